// Where a mailed link leads to: a new password, and whether API keys end with the old one.
import { Anchor, Button, Checkbox, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { NewPassword } from '../../shared/account/new-password.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { DoorCard } from './door-card.tsx';
import { useMailedSecret } from './mailed-secret.ts';

export function NewPasswordPage() {
  const { signIn } = usePageStrings();
  const secret = useMailedSecret();
  const [isDone, setDone] = useState(false);
  return (
    <DoorCard title={signIn.newPasswordTitle}>
      {secret === '' && <Text>{signIn.linkMissing}</Text>}
      {secret !== '' && !isDone && <Fields secret={secret} onDone={() => setDone(true)} />}
      {isDone && <Text role="status">{signIn.newPasswordDone}</Text>}
      <Text mt="lg" fz="sm" ta="center">
        <Anchor component={Link} to="/sign-in">
          {isDone ? signIn.title : signIn.toSignInAgain}
        </Anchor>
      </Text>
    </DoorCard>
  );
}

function Fields({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) {
  const { signIn, person } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { password: '', endKeys: false },
    check: ({ password }) => ([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    submit: async ({ password, endKeys }) => {
      await call(api.POST('/api/v2/auth/new-password', { body: { secret, password, end_keys: endKeys } }));
      onDone();
    },
  });
  const isOver = form.problem instanceof ApiProblem && form.problem.status === 404;
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && (
          <ProblemNotice error={isOver ? new ApiProblem({ detail: signIn.linkOver }) : form.problem} />
        )}
        {isOver && (
          <Anchor component={Link} to="/forgotten-password" fz="sm">
            {signIn.toForgotten}
          </Anchor>
        )}
        <Text>{signIn.newPasswordWords}</Text>
        <NewPassword label={person.newPassword} field={form.field('password')} />
        <Checkbox
          label={signIn.endKeys}
          description={signIn.endKeysMeans}
          checked={form.values.endKeys}
          onChange={(event) => form.set('endKeys', event.currentTarget.checked)}
        />
        <Button type="submit" loading={form.isSending} fullWidth mt={4}>
          {signIn.newPasswordSubmit}
        </Button>
      </Stack>
    </form>
  );
}
