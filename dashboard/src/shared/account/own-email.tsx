// What stands below one's own e-mail address: whether it is confirmed, and while it is being changed the present password.
import { Button, Group, PasswordInput, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { FieldBinding } from '../form/use-form.ts';
import { problemWords } from '../page/problem-notice.tsx';

type User = Schemas['User'];

export interface OwnEmailProps {
  readonly me: User;
  /** What is typed as the address. */
  readonly email: string;
  readonly current: FieldBinding;
}

/** Whether what is typed is another address than the account has. */
export function isOtherEmail(me: User, email: string): boolean {
  return email.trim() !== (me.email ?? '');
}

/** Has a link mailed to the address of the account. @throws ApiProblem */
export async function mailConfirmation(user: string): Promise<void> {
  await call(api.POST('/api/v2/users/{user}/email/confirmation', { params: { path: { user } } }));
}

export function OwnEmail({ me, email, current }: OwnEmailProps) {
  const { person, profile } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  if (isOtherEmail(me, email)) {
    return (
      <PasswordInput
        required
        label={profile.passwordCurrent}
        description={person.emailNeedsPassword}
        autoComplete="current-password"
        {...current}
      />
    );
  }
  if (facts?.mailsLinks !== true || me.email === undefined) return null;
  return me.email_confirmed === true ? (
    <Text fz="sm" c="dimmed">
      {person.emailConfirmed}
    </Text>
  ) : (
    <Unconfirmed me={me} />
  );
}

function Unconfirmed({ me }: { readonly me: User }) {
  const strings = usePageStrings();
  const { person } = strings;
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const send = async () => {
    setSending(true);
    try {
      await mailConfirmation(me.id);
      setSaid(person.linkSent(me.email ?? ''));
    } catch (error) {
      setSaid(problemWords(error, strings));
    } finally {
      setSending(false);
    }
  };
  return (
    <div>
      <Group gap="sm">
        <Text fz="sm">{person.emailUnconfirmed}</Text>
        <Button variant="default" size="xs" loading={isSending} onClick={() => void send()}>
          {person.sendLink}
        </Button>
      </Group>
      <Text fz="sm" role="status">
        {said}
      </Text>
    </div>
  );
}
