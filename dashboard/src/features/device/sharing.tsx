// Whom a device is shared with, each with chips for their rights; adding by username; and why somebody may see it.
import { ActionIcon, Button, Chip, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { ProblemNotice, problemWords } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';
import { scopeNames, useScopeWords } from './connect/scopes.ts';
import { Explain } from './explain.tsx';
import classes from './section.module.css';

interface Share {
  readonly username: string;
  readonly scopes: readonly string[];
}

/** What somebody gets at first. */
const firstScopes = ['device:view', 'device-data:view'];

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
  const put = usePut(device);
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
            <Person share={share} onChange={put} />
          </li>
        ))}
      </ul>
      <Add device={device} known={shares?.map(({ username }) => username) ?? []} />
    </>
  );
}

/** Gives exactly these rights, as shown at once; none ends the share. */
function usePut(device: string) {
  const queries = useQueryClient();
  const strings = useStrings();
  const queryKey = keys.deviceShares(device);
  const put = async (share: Share, said?: { readonly text: string; readonly undo: () => void }) => {
    queries.setQueryData(queryKey, (known: readonly Share[] = []) =>
      known.map((one) => (one.username === share.username ? share : one)).filter(({ scopes }) => scopes.length > 0),
    );
    try {
      await sendShare(device, share);
      if (said !== undefined) toasts.show(said);
    } catch (error) {
      toasts.show({ text: problemWords(error, strings), isBad: true });
    }
    await queries.invalidateQueries({ queryKey });
  };
  return (share: Share, before: Share) => {
    const text = strings.device.shareRemoved(share.username);
    const isEnd = share.scopes.length === 0;
    void put(share, isEnd ? { text, undo: () => void put(before) } : undefined);
  };
}

function sendShare(device: string, { username, scopes }: Share): Promise<unknown> {
  const params = { path: { device, username } };
  return call(api.PUT('/api/v2/devices/{device}/shares/{username}', { params, body: { scopes: [...scopes] } }));
}

interface PersonProps {
  readonly share: Share;
  readonly onChange: (share: Share, before: Share) => void;
}

function Person({ share, onChange }: PersonProps) {
  const { device: words } = useStrings();
  const scopeWords = useScopeWords();
  const { username, scopes } = share;
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap">
      <Group gap="sm">
        <Text fw={600} miw={120}>
          {username}
        </Text>
        <Chip.Group multiple value={[...scopes]} onChange={(chosen) => onChange({ username, scopes: chosen }, share)}>
          <Group gap={6} role="group" aria-label={words.shareRights(username)}>
            {scopeNames.map((scope) => (
              <Chip key={scope} value={scope} size="xs" variant="outline">
                {scopeWords[scope]}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      </Group>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={words.shareRemove(username)}
        onClick={() => onChange({ username, scopes: [] }, share)}
      >
        <Icon name="close" />
      </ActionIcon>
    </Group>
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
