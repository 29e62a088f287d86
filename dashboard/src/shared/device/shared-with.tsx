// Whom a device, gateway or project is shared with, each with chips for their rights; adding by username.
import { Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { UserInput } from '../account/user-input.tsx';
import { useForm } from '../form/use-form.ts';
import { RowsSkeleton } from '../list/rows-skeleton.tsx';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';
import { ShareRow } from './share-row.tsx';
import classes from './shared-with.module.css';
import { firstScopes, type Share, type Shared, sendShare, useShareChange } from './use-share-change.ts';

export function SharedWith({ of }: { readonly of: Shared }) {
  const { device: words } = usePageStrings();
  const { kind, id } = of;
  const { data: shares, error } = useQuery({ queryKey: keys.sharesOf(kind, id), queryFn: () => listShares(of) });
  const change = useShareChange(of);
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
            <ShareRow kind={kind} share={share} title={share.username} onChange={change} />
          </li>
        ))}
      </ul>
      <Add of={of} known={shares?.map(({ username }) => username) ?? []} />
    </>
  );
}

function listShares({ kind, id }: Shared): Promise<readonly Share[]> {
  if (kind === 'device') return call(api.GET('/api/v2/devices/{device}/shares', { params: { path: { device: id } } }));
  if (kind === 'gateway') {
    return call(api.GET('/api/v2/gateways/{gateway}/shares', { params: { path: { gateway: id } } }));
  }
  return call(api.GET('/api/v2/projects/{project}/shares', { params: { path: { project: id } } }));
}

function Add({ of, known }: { readonly of: Shared; readonly known: readonly string[] }) {
  const { device: words } = usePageStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { username: '' },
    submit: async ({ username }) => {
      await sendShare(of, { username: username.trim(), scopes: firstScopes(of.kind) });
      toasts.show({ text: words.shareAdded(username.trim()) });
      form.set('username', '');
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
