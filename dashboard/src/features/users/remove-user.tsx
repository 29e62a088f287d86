// Removing an account: what it owns is counted first, and is handed over or deleted as the admin says.

import { Button, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { type Fate, FateChoice, useOwnedThings, wordsOfOwned } from '../../shared/account/owned-things.tsx';
import { RemoveButtons } from '../../shared/account/remove-buttons.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

type User = Schemas['User'];

export function RemoveUser({ user }: { readonly user: User }) {
  const { users } = usePageStrings();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Section title={users.removeTitle} words={users.removeWords}>
      <Button variant="outline" color="red" onClick={open}>
        {users.removeButton(user.username)}
      </Button>
      <Dialog opened={isOpen} onClose={close} title={users.removeQuestion(user.username)}>
        <Question user={user} onClose={close} />
      </Dialog>
    </Section>
  );
}

function Question({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const strings = usePageStrings();
  const { users } = strings;
  const { data: owned, error } = useOwnedThings(user);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const ownsSome = owned !== undefined && owned.devices + owned.gateways > 0;
  const form = useForm({
    initial: { devices: 'transfer' as Fate, to: '', typed: '' },
    check: ({ devices, to }) =>
      ownsSome && devices === 'transfer' && to.trim() === '' ? { to: users.handOverMissing } : {},
    submit: async ({ devices, to }) => {
      const query = !ownsSome ? {} : devices === 'delete' ? { devices } : { devices, to: to.trim() };
      await call(api.DELETE('/api/v2/users/{user}', { params: { path: { user: user.id }, query } }));
      toasts.show({ text: users.removed(user.username) });
      onClose();
      await navigate({ to: '/users', search: {} });
      queries.removeQueries({ queryKey: keys.user(user.id) });
      await queries.invalidateQueries({ queryKey: keys.users });
    },
  });
  const deletes = ownsSome && form.values.devices === 'delete';
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {error !== null && <ProblemNotice error={error} />}
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        {owned !== undefined && !ownsSome && <Text>{users.removeOwnsNothing(user.username)}</Text>}
        {ownsSome && (
          <FateChoice
            label={users.removeOwns(user.username, wordsOfOwned(owned, strings))}
            owner={user}
            fate={form.values.devices}
            onFate={(devices) => form.set('devices', devices)}
            to={form.values.to}
            onTo={(to) => form.set('to', to)}
            error={form.errorOf('to')}
          />
        )}
        <RemoveButtons
          onClose={onClose}
          isReady={owned !== undefined && (!deletes || form.values.typed === user.username)}
          isSending={form.isSending}
          typed={deletes ? { name: user.username, field: form.field('typed') } : undefined}
        />
      </Stack>
    </form>
  );
}
