// Removing an account: what it owns is counted first, and is handed over or deleted as the admin says.

import { Button, Radio, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';
import { RemoveButtons } from './remove-buttons.tsx';

type User = Schemas['User'];

export function RemoveUser({ user }: { readonly user: User }) {
  const { users } = useStrings();
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

function useOwned({ username }: User) {
  const query = { q: `owner==${filterValue(username)}`, limit: 1, offset: 0 };
  return useQuery({
    queryKey: [...keys.users, 'owned', username],
    staleTime: 0,
    queryFn: async () => {
      const [devices, gateways] = await Promise.all([
        callPage(api.GET('/api/v2/devices', { params: { query } })),
        callPage(api.GET('/api/v2/gateways', { params: { query } })),
      ]);
      return { devices: devices.total, gateways: gateways.total };
    },
  });
}

function Question({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { users } = useStrings();
  const { data: owned, error } = useOwned(user);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const ownsSome = owned !== undefined && owned.devices + owned.gateways > 0;
  const form = useForm({
    initial: { devices: 'transfer' as 'transfer' | 'delete', to: '', typed: '' },
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
        {ownsSome && <Fate user={user} owned={owned} form={form} />}
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

interface FateProps {
  readonly user: User;
  readonly owned: { readonly devices: number; readonly gateways: number };
  readonly form: ReturnType<typeof useForm<{ devices: 'transfer' | 'delete'; to: string; typed: string }>>;
}

function Fate({ user, owned: { devices, gateways }, form }: FateProps) {
  const { users } = useStrings();
  const parts = [...(devices > 0 ? [users.devices(devices)] : []), ...(gateways > 0 ? [users.gateways(gateways)] : [])];
  const what = parts.length === 2 ? users.and(parts[0] ?? '', parts[1] ?? '') : (parts[0] ?? '');
  return (
    <>
      <Radio.Group
        label={users.removeOwns(user.username, what)}
        value={form.values.devices}
        onChange={(value) => form.set('devices', value as 'transfer' | 'delete')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="transfer" label={users.handOver} description={users.handOverMeans} />
          <Radio value="delete" label={users.deleteToo} description={users.deleteTooMeans} />
        </Stack>
      </Radio.Group>
      {form.values.devices === 'transfer' && (
        <UserInput
          required
          label={users.handOverTo}
          value={form.values.to}
          onChange={(to) => form.set('to', to)}
          except={[user.username]}
          error={form.errorOf('to')}
        />
      )}
    </>
  );
}
