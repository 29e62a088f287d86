// Each channel with what it reaches, and a test message that tells whether it does.

import { Anchor, Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ConfirmDanger } from '../../shared/form/confirm-danger.tsx';
import classes from '../../shared/list/rows.module.css';
import { reasonWords } from '../../shared/message-reason.ts';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { problemWords } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { listed } from '../../strings/listed.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { type Channel, sendTest } from './test-message.ts';

type User = Schemas['User'];

const channels: readonly { readonly name: Channel; readonly of: (me: User) => readonly string[] }[] = [
  { name: 'sms', of: ({ phone = [] }) => phone },
  { name: 'voice', of: ({ phone = [] }) => phone },
  { name: 'email', of: ({ email = '' }) => (email === '' ? [] : [email]) },
  { name: 'twitter', of: ({ twitter = [] }) => twitter.map((name) => `@${name}`) },
  { name: 'telegram', of: ({ telegram = [] }) => telegram },
  { name: 'webhook', of: ({ webhook = [] }) => webhook },
];

export function Channels({ me }: { readonly me: User }) {
  const { profile } = usePageStrings();
  return (
    <>
      <Section title={profile.channelsTitle} words={profile.channelsWords}>
        <ul className={classes.list}>
          {channels.map(({ name, of }) => (
            <Row key={name} channel={name} addresses={of(me)} username={me.username} />
          ))}
        </ul>
      </Section>
      {me.webhook_key !== undefined && (
        <Section title={profile.webhookKey} words={profile.webhookKeyMeans}>
          <Group>
            <CopyButton text={me.webhook_key}>{profile.webhookKey}</CopyButton>
            <NewWebhookKey user={me.id} />
          </Group>
        </Section>
      )}
    </>
  );
}

function NewWebhookKey({ user }: { readonly user: string }) {
  const { profile } = usePageStrings();
  const [isAsking, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const rotate = async () => {
    await call(api.POST('/api/v2/users/{user}/webhook_key', { params: { path: { user } } }));
    await queries.invalidateQueries({ queryKey: keys.me });
    toasts.show({ text: profile.webhookKeyMade });
  };
  return (
    <>
      <Button variant="default" size="xs" onClick={open}>
        {profile.webhookKeyNew}
      </Button>
      <ConfirmDanger
        isHarmless
        isOpen={isAsking}
        onClose={close}
        title={profile.webhookKeyQuestion}
        words={profile.webhookKeyWords}
        action={profile.webhookKeyNew}
        onConfirm={rotate}
      />
    </>
  );
}

interface RowProps {
  readonly channel: Channel;
  readonly addresses: readonly string[];
  readonly username: string;
}

function Row({ channel, addresses, username }: RowProps) {
  const strings = usePageStrings();
  const { profile } = strings;
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const send = async () => {
    setSending(true);
    setSaid(profile.testQueued);
    try {
      const { status, reason } = await sendTest({ username, channel, text: profile.testText(username) });
      const why = reason && reasonWords(reason, strings);
      if (status === 'sent') setSaid(profile.testSent);
      else if (status === 'queued') setSaid(why ?? profile.testQueued);
      else setSaid(why === undefined ? profile.testFailedNoReason : profile.testFailed(why));
    } catch (error) {
      setSaid(problemWords(error, strings));
    } finally {
      setSending(false);
    }
  };
  const isEmpty = addresses.length === 0;
  return (
    <li className={classes.row}>
      <div className={classes.words}>
        <Text fw={600}>{profile[channel]}</Text>
        <Text fz="sm" c="dimmed">
          {isEmpty ? profile.noAddress : listed(addresses)}
        </Text>
        <Text fz="sm" role="status">
          {said}
        </Text>
      </div>
      {isEmpty ? (
        <Anchor
          component={Link}
          to="/profile"
          fz="sm"
          aria-label={strings.shared.labelled(profile.enter, profile[channel])}
        >
          {profile.enter}
        </Anchor>
      ) : (
        <Button
          variant="default"
          size="xs"
          loading={isSending}
          aria-label={profile.testOf(profile[channel])}
          onClick={() => void send()}
        >
          {profile.test}
        </Button>
      )}
    </li>
  );
}
