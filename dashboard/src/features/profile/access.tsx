// Password, sign-ins, and how the dashboard looks in this browser.
import { Button, Group, NativeSelect, PasswordInput, SimpleGrid, Stack, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { session } from '../../api/session.ts';
import { NewPassword } from '../../shared/new-password.tsx';
import { ProblemNotice } from '../../shared/problem-notice.tsx';
import { Section } from '../../shared/section.tsx';
import { toasts } from '../../shared/toasts.tsx';
import { useForm } from '../../shared/use-form.ts';
import { type Language, languages, useLocale, useStrings } from '../../strings/strings.ts';

type User = Schemas['User'];

export function Access({ me }: { readonly me: User }) {
  const { profile, shell } = useStrings();
  const navigate = useNavigate();
  const [round, setRound] = useState(0);
  const signOut = async () => {
    await navigate({ to: '/devices' });
    await session.signOut();
  };
  return (
    <>
      <Section title={profile.passwordTitle} words={profile.passwordWords}>
        <PasswordForm key={round} me={me} onDone={() => setRound(round + 1)} />
      </Section>
      <Section title={profile.sessionTitle} words={profile.sessionWords}>
        <Button variant="default" onClick={() => void signOut()}>
          {shell.signOut}
        </Button>
      </Section>
      <Look />
    </>
  );
}

function PasswordForm({ me, onDone }: { readonly me: User; readonly onDone: () => void }) {
  const { profile, person } = useStrings();
  const { data: facts } = useQuery(factsQuery);
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { current: '', password: '' },
    check: ({ password }) => ([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    submit: async (body) => {
      const path = { user: me.id };
      await call(api.PUT('/api/v2/users/{user}/password', { params: { path }, body: body as never }));
      // The token has ended with the password it stood on.
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

const schemes = { auto: 'schemeAuto', light: 'schemeLight', dark: 'schemeDark' } as const;

function Look() {
  const { language, strings, choose } = useLocale();
  const { profile, shell } = strings;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title={profile.lookTitle} words={profile.lookWords}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} maw={420}>
        <NativeSelect
          label={shell.language}
          value={language}
          onChange={(event) => choose(event.currentTarget.value as Language)}
          data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
        />
        <NativeSelect
          label={shell.scheme}
          value={colorScheme}
          onChange={(event) => setColorScheme(event.currentTarget.value as keyof typeof schemes)}
          data={Object.entries(schemes).map(([value, label]) => ({ value, label: shell[label] }))}
        />
      </SimpleGrid>
    </Section>
  );
}
