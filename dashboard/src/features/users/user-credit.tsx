// How many paid messages a day are counted for a user at most, where an admin wants fewer than the service allows.
import { Button, Group, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function UserCredit({ user }: { readonly user: Schemas['User'] }) {
  const { shared, users } = usePageStrings();
  const queries = useQueryClient();
  const form = useForm({
    initial: { credit: user.smsCredit === undefined ? '' : String(user.smsCredit) },
    check: ({ credit }) => (/^\d{0,9}$/.test(credit.trim()) ? {} : { credit: users.creditWrong }),
    submit: async ({ credit }) => {
      const body = (credit.trim() === '' ? null : Number(credit)) as number;
      await call(api.PUT('/api/v2/users/{user}/sms_credit', { params: { path: { user: user.id } }, body }));
      await queries.invalidateQueries({ queryKey: keys.users });
      toasts.show({ text: users.saved });
    },
  });
  return (
    <Section title={users.credit} words={users.creditWords}>
      <form onSubmit={form.onSubmit} noValidate>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          label={users.creditLabel}
          description={users.creditMeans}
          inputMode="numeric"
          {...form.field('credit')}
        />
        <Group mt="lg">
          <Button type="submit" variant="default" loading={form.isSending}>
            {shared.save}
          </Button>
        </Group>
      </form>
    </Section>
  );
}
