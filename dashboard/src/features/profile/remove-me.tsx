// The removal of one's own account, in two steps: what goes and what becomes of what one owns, and then the password.
import { Button, Group, List, PasswordInput, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { session } from '../../api/session.ts';
import {
  type Fate,
  FateChoice,
  type OwnedThings,
  useOwnedThings,
  wordsOfOwned,
} from '../../shared/account/owned-things.tsx';
import { RemoveButtons } from '../../shared/account/remove-buttons.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

type User = Schemas['User'];

export function RemoveMe({ me }: { readonly me: User }) {
  const { ownAccount } = usePageStrings();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Section title={ownAccount.remove} words={ownAccount.removeWords}>
      <Button variant="outline" color="red" onClick={open}>
        {ownAccount.removeOpen}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={ownAccount.removeQuestion}>
        <Question me={me} onClose={close} />
      </Dialog>
    </Section>
  );
}

interface StepProps {
  readonly me: User;
  readonly owned: OwnedThings;
  readonly onClose: () => void;
}

/** What becomes of what one owns; undefined where that is nothing. */
type Choice = { readonly devices: Fate; readonly to: string } | undefined;

function Question({ me, onClose }: { readonly me: User; readonly onClose: () => void }) {
  const { data: owned, error } = useOwnedThings(me);
  const [chosen, setChosen] = useState<{ readonly choice: Choice }>();
  if (owned === undefined) return error === null ? <RowsSkeleton rows={3} /> : <ProblemNotice error={error} />;
  const step = { me, owned, onClose };
  if (chosen === undefined) return <FirstStep {...step} onNext={(choice) => setChosen({ choice })} />;
  return <LastStep {...step} choice={chosen.choice} />;
}

function FirstStep({ me, owned, onClose, onNext }: StepProps & { readonly onNext: (choice: Choice) => void }) {
  const strings = usePageStrings();
  const { ownAccount, users, shared } = strings;
  const ownsSome = owned.devices + owned.gateways > 0;
  const form = useForm({
    initial: { devices: 'transfer' as Fate, to: '' },
    check: ({ devices, to }) =>
      ownsSome && devices === 'transfer' && to.trim() === '' ? { to: users.handOverMissing } : {},
    submit: async ({ devices, to }) => onNext(ownsSome ? { devices, to: to.trim() } : undefined),
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        <WhatGoes />
        {ownsSome && (
          <FateChoice
            label={ownAccount.owns(wordsOfOwned(owned, strings))}
            owner={me}
            fate={form.values.devices}
            onFate={(devices) => form.set('devices', devices)}
            to={form.values.to}
            onTo={(to) => form.set('to', to)}
            error={form.errorOf('to')}
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {shared.cancel}
          </Button>
          <Button type="submit">{ownAccount.next}</Button>
        </Group>
      </Stack>
    </form>
  );
}

function WhatGoes() {
  const { ownAccount } = usePageStrings();
  return (
    <>
      <Text>{ownAccount.goes}</Text>
      <List>
        {[ownAccount.goesSignIns, ownAccount.goesRules, ownAccount.goesShares].map((what) => (
          <List.Item key={what}>{what}</List.Item>
        ))}
      </List>
      <Text>{ownAccount.noWayBack}</Text>
    </>
  );
}

function LastStep({ me, owned, choice, onClose }: StepProps & { readonly choice: Choice }) {
  const strings = usePageStrings();
  const { ownAccount, profile } = strings;
  const navigate = useNavigate();
  const deletes = choice?.devices === 'delete';
  const form = useForm({
    initial: { current: '', typed: '' },
    check: ({ current }) => (current === '' ? { current: ownAccount.passwordMissing } : {}),
    submit: async ({ current }) => {
      const fate = choice?.devices === 'delete' ? { devices: choice.devices } : choice;
      const params = { path: { user: me.id } };
      await call(api.POST('/api/v2/users/{user}/removal', { params, body: { current, ...fate } }));
      onClose();
      await session.signOut();
      await navigate({ to: '/sign-in', search: {} });
      toasts.show({ text: ownAccount.removed });
    },
  });
  const what = wordsOfOwned(owned, strings);
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        {choice === undefined && <Text>{ownAccount.lastWords}</Text>}
        {choice?.devices === 'delete' && <Text>{ownAccount.lastWordsDelete(what)}</Text>}
        {choice?.devices === 'transfer' && <Text>{ownAccount.lastWordsTransfer(what, choice.to)}</Text>}
        <PasswordInput
          required
          autoFocus
          label={profile.passwordCurrent}
          autoComplete="current-password"
          {...form.field('current')}
        />
        <RemoveButtons
          onClose={onClose}
          isReady={!deletes || form.values.typed === me.username}
          isSending={form.isSending}
          typed={deletes ? { name: me.username, field: form.field('typed') } : undefined}
        />
      </Stack>
    </form>
  );
}
