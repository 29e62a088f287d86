// What an admin changes of a person: name and ways to be reached.
import { Button, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { PersonFields, personBody, personValues } from '../../shared/account/person-fields.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';

export function UserForm({ user }: { readonly user: Schemas['User'] }) {
  const { person, shared, users } = useStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: personValues(user),
    submit: async (values) => {
      await call(api.PUT('/api/v2/users/{user}', { params: { path: { user: user.id } }, body: personBody(values) }));
      await queries.invalidateQueries({ queryKey: keys.users });
      toasts.show({ text: users.saved });
    },
  });
  return (
    <Section title={person.who} words={person.reachedWords}>
      <form onSubmit={form.onSubmit} noValidate>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <PersonFields form={form} />
        <Group mt="lg">
          <Button type="submit" loading={form.isSending}>
            {shared.save}
          </Button>
        </Group>
      </form>
    </Section>
  );
}
