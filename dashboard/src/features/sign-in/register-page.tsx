// Making an account for oneself, where the service is set so; signs in afterwards.
import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { session } from '../../api/session.ts';
import { firstLists, PersonFields, personBody, personValues } from '../../shared/account/person-fields.tsx';
import { MoreFields } from '../../shared/form/more-fields.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { DoorCard } from './door-card.tsx';

export function RegisterPage() {
  const { signIn } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  return (
    <DoorCard title={signIn.registerTitle}>
      {facts?.selfRegistration === false && <Text>{signIn.registerClosed}</Text>}
      {facts?.selfRegistration === true && <Fields passwordLengthMin={facts.passwordLengthMin} />}
      <Text mt="lg" fz="sm" ta="center">
        <Anchor component={Link} to="/sign-in">
          {signIn.toSignIn}
        </Anchor>
      </Text>
    </DoorCard>
  );
}

function Fields({ passwordLengthMin }: { readonly passwordLengthMin: number }) {
  const { signIn } = usePageStrings();
  const navigate = useNavigate();
  const form = useForm({
    initial: { username: '', password: '', ...personValues() },
    check: ({ username, password }) => ({
      ...(username === '' ? { username: signIn.usernameMissing } : {}),
      ...([...password].length < passwordLengthMin ? { password: signIn.passwordMeans(passwordLengthMin) } : {}),
    }),
    submit: async ({ username, password, ...person }) => {
      const given = Object.fromEntries(Object.entries(personBody(person)).filter(([, value]) => value.length > 0));
      const body = { ...given, username, password };
      await call(api.POST('/api/v2/users', { body: body as never }));
      await session.signIn({ username, password });
      await navigate({ to: '/devices' });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          required
          autoFocus
          label={signIn.username}
          description={signIn.usernameMeans}
          autoComplete="username"
          {...form.field('username')}
        />
        <PasswordInput
          required
          label={signIn.password}
          description={signIn.passwordMeans(passwordLengthMin)}
          autoComplete="new-password"
          {...form.field('password')}
        />
        <MoreFields isNeeded={form.isRefused}>
          <PersonFields isOwn form={form as unknown as Form<ReturnType<typeof personValues>>} lists={firstLists} />
        </MoreFields>
        <Button type="submit" loading={form.isSending} fullWidth mt={4}>
          {signIn.registerSubmit}
        </Button>
      </Stack>
    </form>
  );
}
