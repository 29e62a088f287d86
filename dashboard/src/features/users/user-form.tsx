// What an admin changes of a person: name and ways to be reached.
import { Button, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { isOtherEmail, OwnEmail } from '../../shared/account/own-email.tsx';
import { PersonFields, personBody, personValues } from '../../shared/account/person-fields.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function UserForm({ user }: { readonly user: Schemas['User'] }) {
  const { person, shared, users } = usePageStrings();
  const queries = useQueryClient();
  const state = useSession();
  const isSelf = state.status === 'user' && state.userId === user.id;
  const form = useForm({
    initial: { current: '', ...personValues(user) },
    submit: async (values) => {
      const isGuarded = isSelf && isOtherEmail(user, values.email);
      const body = { ...personBody(values), ...(isGuarded ? { current: values.current } : {}) };
      await call(api.PUT('/api/v2/users/{user}', { params: { path: { user: user.id } }, body }));
      form.set('current', '');
      await queries.invalidateQueries({ queryKey: keys.users });
      toasts.show({ text: users.saved });
    },
  });
  return (
    <Section title={person.who} words={person.reachedWords}>
      <form onSubmit={form.onSubmit} noValidate>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <PersonFields
          form={form as unknown as Form<ReturnType<typeof personValues>>}
          belowEmail={isSelf && <OwnEmail me={user} email={form.values.email} current={form.field('current')} />}
        />
        <Group mt="lg">
          <Button type="submit" loading={form.isSending}>
            {shared.save}
          </Button>
        </Group>
      </form>
    </Section>
  );
}
