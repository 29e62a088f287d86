// A new password, set by an admin for somebody who has forgotten theirs.
import { Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { session } from '../../api/session.ts';
import { useUsername } from '../../api/use-session.ts';
import { NewPassword } from '../../shared/new-password.tsx';
import { ProblemNotice } from '../../shared/problem-notice.tsx';
import { Section } from '../../shared/section.tsx';
import { toasts } from '../../shared/toasts.tsx';
import { useForm } from '../../shared/use-form.ts';
import { useStrings } from '../../strings/strings.ts';

export function ResetPassword({ user }: { readonly user: Schemas['User'] }) {
  const { users } = useStrings();
  const [round, setRound] = useState(0);
  return (
    <Section title={users.passwordTitle} words={users.passwordWords}>
      <Fields key={round} user={user} onDone={() => setRound(round + 1)} />
    </Section>
  );
}

function Fields({ user, onDone }: { readonly user: Schemas['User']; readonly onDone: () => void }) {
  const { users, person } = useStrings();
  const { data: facts } = useQuery(factsQuery);
  const own = useUsername();
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { password: '' },
    check: ({ password }) => ([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    submit: async ({ password }) => {
      const path = { user: user.id };
      await call(api.PUT('/api/v2/users/{user}/password', { params: { path }, body: { password } as never }));
      // One's own token ends with the password.
      if (user.username === own) await session.signIn({ username: own, password });
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
