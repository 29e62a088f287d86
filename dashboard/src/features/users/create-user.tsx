// The dialog in which an admin makes an account, with all that spec.md 5.1 names.
import { Stack, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { NewPassword } from '../../shared/account/new-password.tsx';
import { PersonFields, personBody, personValues } from '../../shared/account/person-fields.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { MoreFields } from '../../shared/form/more-fields.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function CreateUser({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { users } = usePageStrings();
  return (
    <Dialog opened={isOpen} onClose={onClose} size="lg" title={users.create}>
      <Fields onDone={onClose} />
    </Dialog>
  );
}

function Fields({ onDone }: { readonly onDone: () => void }) {
  const { users, person } = usePageStrings();
  const { data: facts } = useQuery(factsQuery);
  const queries = useQueryClient();
  const lengthMin = facts?.passwordLengthMin ?? 8;
  const form = useForm({
    initial: { username: '', password: '', admin: false, ...personValues() },
    check: ({ username, password }) => ({
      ...(username.trim() === '' ? { username: person.usernameMeans } : {}),
      ...([...password].length < lengthMin ? { password: person.passwordMeans(lengthMin) } : {}),
    }),
    submit: async (values) => {
      const { username, password, admin } = values;
      const given = Object.entries(personBody(values)).filter(([, value]) => value.length > 0);
      const body = { ...Object.fromEntries(given), username: username.trim(), password, admin };
      await call(api.POST('/api/v2/users', { body }));
      await queries.invalidateQueries({ queryKey: keys.users });
      toasts.show({ text: users.created(username.trim()) });
      onDone();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          data-autofocus
          required
          label={person.username}
          description={person.usernameMeans}
          autoComplete="off"
          {...form.field('username')}
        />
        <NewPassword
          label={person.password}
          field={form.field('password')}
          onMade={(password) => form.set('password', password)}
        />
        <Switch
          label={users.admin}
          description={users.adminMeans}
          checked={form.values.admin}
          onChange={(event) => form.set('admin', event.currentTarget.checked)}
        />
        <MoreFields isNeeded={form.isRefused}>
          {/* It has the fields of a person, and three more. */}
          <PersonFields form={form as unknown as Form<ReturnType<typeof personValues>>} />
        </MoreFields>
        <FormButtons submit={users.createSubmit} isSending={form.isSending} onCancel={onDone} />
      </Stack>
    </form>
  );
}
