// A new password, set by an admin for somebody who has forgotten theirs; on an admin's own page, their own.
import { Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { useUsername } from '../../api/use-session.ts';
import { NewPassword } from '../../shared/account/new-password.tsx';
import { OwnPassword } from '../../shared/account/own-password.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function ResetPassword({ user }: { readonly user: Schemas['User'] }) {
  const { users, profile } = usePageStrings();
  const own = useUsername();
  const [round, setRound] = useState(0);
  const isOwn = user.username === own;
  const Form = isOwn ? OwnPassword : Fields;
  return (
    <Section title={users.passwordTitle} words={isOwn ? profile.passwordWords : users.passwordWords}>
      <Form key={round} me={user} onDone={() => setRound(round + 1)} />
    </Section>
  );
}

function Fields({ me: user, onDone }: { readonly me: Schemas['User']; readonly onDone: () => void }) {
  const { users, person } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { password: '' },
    check: ({ password }) => ([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    submit: async ({ password }) => {
      const path = { user: user.id };
      await call(api.PUT('/api/v2/users/{user}/password', { params: { path }, body: { password } as never }));
      toasts.show({ text: users.passwordDone(user.username) });
      onDone();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md" maw={420}>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <NewPassword
          label={person.newPassword}
          field={form.field('password')}
          onMade={(password) => form.set('password', password)}
        />
        <Group>
          <Button type="submit" variant="default" loading={form.isSending}>
            {users.passwordSet}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
