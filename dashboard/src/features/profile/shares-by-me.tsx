// What I share, with whom, and what they may do, to be changed here; and sharing one more device (spec.md 2.7: sharing is
// done in the user's profile).
import { Anchor, Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
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
import { usePageStrings } from '../../strings/strings.ts';
import classes from './shares-by-me.module.css';
import { pageOf, type SharedShare, useShares } from './use-shares.ts';

export function SharesByMe() {
  const { profile } = usePageStrings();
  const { data, error, refetch } = useShares('by-me');
  return (
    <Section title={profile.byMe}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data?.length === 0 && <EmptyState title={profile.byMeNone} words={profile.byMeNoneWords} />}
      <ul className={classes.list} aria-label={profile.byMe}>
        {data?.map(({ of, share }) => (
          <li key={`${of.kind}/${of.id}/${share.username}`}>
            <Row of={of} share={share} />
          </li>
        ))}
      </ul>
      {data !== undefined && <Add />}
    </Section>
  );
}

function Row({ of, share }: SharedShare) {
  const { profile } = usePageStrings();
  const { name, username, scopes } = share;
  const change = useShareChange(of);
  const { to, params } = pageOf(of);
  const title = (
    <>
      <Anchor component={Link} to={to} params={params as never} fw={600}>
        {name || of.id}
      </Anchor>{' '}
      <Text component="span" c="dimmed" fz="sm">
        {of.kind === 'device' ? '' : `${profile.kindOf[of.kind]}, `}
        {profile.sharedTo(username)}
      </Text>
    </>
  );
  return <ShareRow kind={of.kind} share={{ username, scopes }} title={title} onChange={change} />;
}

function Add() {
  const { device: words, profile } = usePageStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { device: '', username: '' },
    submit: async (values) => {
      const device = values.device.trim();
      const username = values.username.trim();
      await sendShare({ kind: 'device', id: device }, { username, scopes: firstScopes('device') });
      toasts.show({ text: words.shareAdded(username) });
      form.set('device', '');
      form.set('username', '');
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
