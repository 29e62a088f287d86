// Password, sign-ins, and how the dashboard looks in this browser.
import { NativeSelect, SimpleGrid, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { guestAccessQuery } from '../../api/guest-access.ts';
import { GuestAccessChoice } from '../../shared/account/guest-access.tsx';
import { OwnPassword } from '../../shared/account/own-password.tsx';
import { SignIns } from '../../shared/account/sign-ins.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { type Language, languages, unreviewed, usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { Everything } from './everything.tsx';
import { RemoveMe } from './remove-me.tsx';

type User = Schemas['User'];

export function Access({ me }: { readonly me: User }) {
  const { profile } = usePageStrings();
  const [round, setRound] = useState(0);
  return (
    <>
      <Section title={profile.passwordTitle} words={profile.passwordWords}>
        <OwnPassword key={round} me={me} onDone={() => setRound(round + 1)} />
      </Section>
      {me.admin === true && <Strangers />}
      <Look />
      <Everything />
      <RemoveMe me={me} />
      {/* Last: nothing is below it that would move when the list comes. */}
      <SignIns user={me} />
    </>
  );
}

/** What callers without a token may do; for admins. */
function Strangers() {
  const { strangers } = usePageStrings();
  const { data, error, refetch } = useQuery(guestAccessQuery);
  return (
    <Section title={strangers.title} words={strangers.words}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsSkeleton rows={3} />}
      {data !== undefined && <GuestAccessChoice state={data} />}
    </Section>
  );
}

const schemes = { auto: 'schemeAuto', light: 'schemeLight', dark: 'schemeDark' } as const;

function Look() {
  const { language, strings, choose } = usePageLocale();
  const { profile, shell } = strings;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title={profile.lookTitle} words={profile.lookWords}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} maw={420}>
        <NativeSelect
          label={shell.language}
          description={unreviewed.has(language) ? shell.unreviewed : undefined}
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
