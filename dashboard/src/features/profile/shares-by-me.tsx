// What I share, with whom, and what they may do, to be changed here; and sharing one more device (spec.md 2.7: sharing is
// done in the user's profile).
import { Anchor, Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { DeviceInput } from '../../shared/device/device-input.tsx';
import { ShareRow } from '../../shared/device/share-row.tsx';
import { firstScopes, sendShare, useShareChange } from '../../shared/device/use-share-change.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';
import classes from './shares-by-me.module.css';

export function SharesByMe() {
  const { profile } = useStrings();
  const query = { direction: 'by-me', limit: 1_000, offset: 0 } as const;
  const { data, error, refetch } = useQuery({
    queryKey: keys.shares('by-me'),
    queryFn: () => call(api.GET('/api/v2/auth/shares', { params: { query } })),
  });
  return (
    <Section title={profile.byMe}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.length === 0 && <EmptyState title={profile.byMeNone} words={profile.byMeNoneWords} />}
      <ul className={classes.list} aria-label={profile.byMe}>
        {data?.map((share) => (
          <li key={`${share.device}/${share.username}`}>
            <Row share={share} />
          </li>
        ))}
      </ul>
      {data !== undefined && <Add />}
    </Section>
  );
}

function Row({ share }: { readonly share: Schemas['SharedDevice'] }) {
  const { profile } = useStrings();
  const { device, name, username, scopes } = share;
  const change = useShareChange(device);
  const title = (
    <>
      <Anchor component={Link} to="/devices/$device" params={{ device } as never} fw={600}>
        {name || device}
      </Anchor>{' '}
      <Text component="span" c="dimmed" fz="sm">
        {profile.sharedTo(username)}
      </Text>
    </>
  );
  return <ShareRow share={{ username, scopes }} title={title} onChange={change} />;
}

function Add() {
  const { device: words, profile } = useStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { device: '', username: '' },
    submit: async (values) => {
      const device = values.device.trim();
      const username = values.username.trim();
      await sendShare(device, { username, scopes: firstScopes });
      toasts.show({ text: words.shareAdded(username) });
      form.set('device', '');
      form.set('username', '');
      await queries.invalidateQueries({ queryKey: keys.deviceShares(device) });
      await queries.invalidateQueries({ queryKey: keys.allShares });
    },
  });
  const { device, username } = form.values;
  return (
    <form onSubmit={form.onSubmit}>
      {form.problem !== undefined && <ProblemNotice error={form.problem} />}
      <Group gap="sm" align="flex-end" mt="md">
        <DeviceInput label={profile.shareDevice} value={device} onChange={(id) => form.set('device', id)} />
        <UserInput label={words.shareUsername} value={username} onChange={(name) => form.set('username', name)} />
        <Button type="submit" loading={form.isSending} disabled={device.trim() === '' || username.trim() === ''}>
          {words.shareAdd}
        </Button>
      </Group>
    </form>
  );
}
