// Each channel with what it reaches, and a test message that tells whether it does.
import { Anchor, Button, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { problemWords } from '../../shared/problem-notice.tsx';
import { Section } from '../../shared/section.tsx';
import { useStrings } from '../../strings/strings.ts';
import classes from './channels.module.css';
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
  const { profile } = useStrings();
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
          <CopyButton text={me.webhook_key}>{profile.webhookKey}</CopyButton>
        </Section>
      )}
    </>
  );
}

interface RowProps {
  readonly channel: Channel;
  readonly addresses: readonly string[];
  readonly username: string;
}

function Row({ channel, addresses, username }: RowProps) {
  const strings = useStrings();
  const { profile } = strings;
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const send = async () => {
    setSending(true);
    setSaid(profile.testQueued);
    try {
      const { status, reason } = await sendTest({ username, channel, text: profile.testText(username) });
      if (status === 'sent') setSaid(profile.testSent);
      else if (status === 'queued') setSaid(reason ?? profile.testQueued);
      else setSaid(reason === undefined ? profile.testFailedNoReason : profile.testFailed(reason));
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
          {isEmpty ? profile.noAddress : addresses.join(', ')}
        </Text>
        <Text fz="sm" role="status">
          {said}
        </Text>
      </div>
      {isEmpty ? (
        <Anchor component={Link} to="/profile" fz="sm" aria-label={`${profile.enter}: ${profile[channel]}`}>
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
