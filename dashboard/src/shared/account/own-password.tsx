// The form by which one changes one's own password, an admin too: the present one is needed. Signs in again, because the
// token ends with the password it stood on.
import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { session } from '../../api/session.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { useForm } from '../form/use-form.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';
import { NewPassword } from './new-password.tsx';

export function OwnPassword({ me, onDone }: { readonly me: Schemas['User']; readonly onDone: () => void }) {
  const { profile, person } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { current: '', password: '' },
    check: ({ password }) => ([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    submit: async (body) => {
      const path = { user: me.id };
      await call(api.PUT('/api/v2/users/{user}/password', { params: { path }, body: body as never }));
      await session.signIn({ username: me.username, password: body.password });
      toasts.show({ text: profile.passwordDone });
      onDone();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md" maw={420}>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <PasswordInput
          required
          label={profile.passwordCurrent}
          autoComplete="current-password"
          {...form.field('current')}
        />
        <NewPassword label={person.newPassword} field={form.field('password')} />
        <Group>
          <Button type="submit" loading={form.isSending}>
            {profile.passwordSave}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
