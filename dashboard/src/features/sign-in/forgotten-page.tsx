// Asking for a link to set a new password. What it says is the same for every account, as the answer of the server is.
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import { DoorCard } from './door-card.tsx';

export function ForgottenPage() {
  const { strings } = usePageLocale();
  const { signIn } = strings;
  const { data: facts } = useQuery(factsQuery);
  const [isAsked, setAsked] = useState(false);
  return (
    <DoorCard title={signIn.forgottenTitle}>
      {facts?.mailsLinks === false && <Text>{signIn.forgotten}</Text>}
      {facts?.mailsLinks === true && !isAsked && <Fields onAsked={() => setAsked(true)} />}
      {isAsked && <Text role="status">{signIn.forgottenAsked}</Text>}
      <Text mt="lg" fz="sm" ta="center">
        <Anchor component={Link} to="/sign-in">
          {signIn.toSignInAgain}
        </Anchor>
      </Text>
    </DoorCard>
  );
}

function Fields({ onAsked }: { readonly onAsked: () => void }) {
  const { strings, language } = usePageLocale();
  const { signIn } = strings;
  const form = useForm({
    initial: { account: '' },
    check: ({ account }) => (account.trim() === '' ? { account: signIn.accountMissing } : {}),
    submit: async ({ account }) => {
      await call(
        api.POST('/api/v2/auth/password-reset', {
          body: { account: account.trim(), language: language === 'fr' ? 'fr' : 'en' },
        }),
      );
      onAsked();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <Text>{signIn.forgottenWords}</Text>
        <TextInput
          required
          withAsterisk={false}
          autoFocus
          label={signIn.account}
          autoComplete="username"
          {...form.field('account')}
        />
        <Button type="submit" loading={form.isSending} fullWidth mt={4}>
          {signIn.forgottenSubmit}
        </Button>
      </Stack>
    </form>
  );
}
