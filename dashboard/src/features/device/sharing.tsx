// Whom a device is shared with, each with chips for their rights; adding by username; and why somebody may see it.
import { Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { ShareRow } from '../../shared/device/share-row.tsx';
import { firstScopes, sendShare, useShareChange } from '../../shared/device/use-share-change.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';
import { Explain } from './explain.tsx';
import classes from './section.module.css';

export function Sharing({ device, isManager }: { readonly device: string; readonly isManager: boolean }) {
  return (
    <>
      {isManager && <People device={device} />}
      <Explain device={device} isManager={isManager} />
    </>
  );
}

function People({ device }: { readonly device: string }) {
  const { device: words } = useStrings();
  const { data: shares, error } = useQuery({
    queryKey: keys.deviceShares(device),
    queryFn: () => call(api.GET('/api/v2/devices/{device}/shares', { params: { path: { device } } })),
  });
  const change = useShareChange(device);
  if (shares === undefined && error === null) return <RowsSkeleton rows={1} rowHeight={102} />;
  return (
    <>
      {error !== null && <ProblemNotice error={error} />}
      {shares?.length === 0 && (
        <Text c="dimmed" mb="sm">
          {words.shareNone}
        </Text>
      )}
      <ul className={classes.list}>
        {shares?.map((share) => (
          <li key={share.username}>
            <ShareRow share={share} title={share.username} onChange={change} />
          </li>
        ))}
      </ul>
      <Add device={device} known={shares?.map(({ username }) => username) ?? []} />
    </>
  );
}

function Add({ device, known }: { readonly device: string; readonly known: readonly string[] }) {
  const { device: words } = useStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { username: '' },
    submit: async ({ username }) => {
      await sendShare(device, { username: username.trim(), scopes: firstScopes });
      toasts.show({ text: words.shareAdded(username.trim()) });
      form.set('username', '');
      await queries.invalidateQueries({ queryKey: keys.deviceShares(device) });
      await queries.invalidateQueries({ queryKey: keys.allShares });
    },
  });
  return (
    <form onSubmit={form.onSubmit}>
      {form.problem !== undefined && <ProblemNotice error={form.problem} />}
      <Group gap="sm" align="flex-end" mt="md">
        <UserInput
          label={words.shareUsername}
          value={form.values.username}
          onChange={(username) => form.set('username', username)}
          except={known}
        />
        <Button type="submit" loading={form.isSending} disabled={form.values.username.trim() === ''}>
          {words.shareAdd}
        </Button>
      </Group>
    </form>
  );
}
