// Where the link of a confirmation leads to. A button confirms: what opens the links of mails presses none.
import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { DoorCard } from './door-card.tsx';
import { useMailedSecret } from './mailed-secret.ts';

export function ConfirmEmailPage() {
  const { signIn, shell } = usePageStrings();
  const secret = useMailedSecret();
  const queries = useQueryClient();
  const isUser = useSession().status === 'user';
  const [isDone, setDone] = useState(false);
  const form = useForm({
    initial: {},
    submit: async () => {
      await call(api.POST('/api/v2/auth/email-confirmation', { body: { secret } }));
      setDone(true);
      await queries.invalidateQueries({ queryKey: keys.me });
    },
  });
  const isOver = form.problem instanceof ApiProblem && form.problem.status === 404;
  return (
    <DoorCard title={signIn.confirmTitle}>
      {secret === '' && <Text>{signIn.linkMissing}</Text>}
      {secret !== '' && !isDone && (
        <form onSubmit={form.onSubmit}>
          <Stack gap="md">
            {form.problem !== undefined && (
              <ProblemNotice error={isOver ? new ApiProblem({ detail: signIn.linkOver }) : form.problem} />
            )}
            <Text>{signIn.confirmWords}</Text>
            <Button type="submit" loading={form.isSending} fullWidth>
              {signIn.confirmSubmit}
            </Button>
          </Stack>
        </form>
      )}
      {isDone && <Text role="status">{signIn.confirmDone}</Text>}
      <Text mt="lg" fz="sm" ta="center">
        <Anchor component={Link} to={isUser ? '/profile' : '/sign-in'}>
          {isUser ? shell.profile : signIn.title}
        </Anchor>
      </Text>
    </DoorCard>
  );
}
