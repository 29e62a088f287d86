// Signing in: username and password, then back to where one came from.
import { Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { ApiProblem } from '../../api/api-problem.ts';
import { factsQuery } from '../../api/facts.ts';
import { session } from '../../api/session.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { DoorCard } from './door-card.tsx';

const route = getRouteApi('/sign-in');

export function SignInPage() {
  const { signIn } = usePageStrings();
  const { next = '/' } = route.useSearch();
  const router = useRouter();
  const { data: facts } = useQuery(factsQuery);
  const form = useForm({
    initial: { username: '', password: '' },
    submit: async (login) => {
      await session.signIn(login);
      await router.navigate({ href: next, replace: true } as never);
    },
  });
  const isWrong = form.problem instanceof ApiProblem && form.problem.status === 401;
  return (
    <DoorCard title={signIn.title}>
      <form onSubmit={form.onSubmit}>
        <Stack gap="md">
          {form.problem !== undefined && (
            <ProblemNotice error={isWrong ? new ApiProblem({ detail: signIn.wrong }) : form.problem} />
          )}
          <TextInput
            required
            withAsterisk={false}
            autoFocus
            label={signIn.username}
            autoComplete="username"
            {...form.field('username')}
          />
          <PasswordInput
            required
            withAsterisk={false}
            label={signIn.password}
            autoComplete="current-password"
            {...form.field('password')}
          />
          <Button type="submit" loading={form.isSending} fullWidth mt={4}>
            {signIn.submit}
          </Button>
        </Stack>
      </form>
      <Stack gap={6} mt="lg" fz="sm" align="center" ta="center">
        {facts?.selfRegistration === true && (
          <Anchor component={Link} to="/register">
            {signIn.toRegister}
          </Anchor>
        )}
        {facts?.selfRegistration === false && (
          <Text fz="sm" c="dimmed">
            {signIn.registerClosed}
          </Text>
        )}
        {facts?.guestAccess !== 'none' && (
          <Anchor component={Link} to="/devices">
            {signIn.asGuest}
          </Anchor>
        )}
        {facts?.mailsLinks === true ? (
          <Anchor component={Link} to="/forgotten-password">
            {signIn.toForgotten}
          </Anchor>
        ) : (
          <Text fz="sm" c="dimmed">
            {signIn.forgotten}
          </Text>
        )}
      </Stack>
    </DoorCard>
  );
}
