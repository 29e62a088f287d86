// What a user has and may have, and the limits that an admin sets in place of the defaults.
import { Button, Group, SimpleGrid, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { QuotaBars } from '../../shared/account/quota-bars.tsx';
import { limitText, parseLimit, type QuotaKind, quotaKinds } from '../../shared/account/quotas.ts';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function UserQuotas({ user }: { readonly user: Schemas['User'] }) {
  const { quota } = usePageStrings();
  const [isOpen, { open, close }] = useDisclosure(false);
  const { data, error, refetch } = useQuery({
    queryKey: keys.userQuota(user.id),
    queryFn: () => call(api.GET('/api/v2/users/{user}/quota', { params: { path: { user: user.id } } })),
  });
  return (
    <Section title={quota.title} words={user.admin === true ? quota.adminWords : quota.userWords(user.username)}>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <QuotaBars quotas={data} />
          <Group mt="lg">
            <Button variant="default" onClick={open}>
              {quota.change}
            </Button>
          </Group>
          <Dialog opened={isOpen} onClose={close} size="lg" title={quota.changeOf(user.username)}>
            <Editor user={user} quotas={data} onDone={close} />
          </Dialog>
        </>
      )}
    </Section>
  );
}

function Editor(props: {
  readonly user: Schemas['User'];
  readonly quotas: Schemas['Quotas'];
  readonly onDone: () => void;
}) {
  const { user, quotas, onDone } = props;
  const { quota, shared } = usePageStrings();
  const queries = useQueryClient();
  const textOf = (kind: QuotaKind) => (quotas[kind].exception ? limitText(kind, quotas[kind].limit) : '');
  const initial = Object.fromEntries(quotaKinds.map((kind) => [kind, textOf(kind)])) as Record<QuotaKind, string>;
  const form = useForm({
    initial,
    check: (values) =>
      Object.fromEntries(
        quotaKinds
          .filter((kind) => parseLimit(kind, values[kind]) === undefined)
          .map((kind) => [kind, quota.limitMeans]),
      ),
    submit: async (values) => {
      const changed = quotaKinds.filter((kind) => values[kind].trim() !== initial[kind]);
      const body = Object.fromEntries(changed.map((kind) => [kind, parseLimit(kind, values[kind])]));
      await call(api.PUT('/api/v2/users/{user}/quota', { params: { path: { user: user.id } }, body }));
      await queries.invalidateQueries({ queryKey: keys.users });
      toasts.show({ text: quota.saved });
      onDone();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      {form.problem !== undefined && <ProblemNotice error={form.problem} />}
      <p>{quota.limitWords}</p>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md" mb="lg">
        {quotaKinds.map((kind) => (
          <TextInput
            key={kind}
            label={quota.kinds[kind]}
            placeholder={quotas[kind].exception ? '' : limitText(kind, quotas[kind].limit)}
            autoComplete="off"
            {...form.field(kind)}
          />
        ))}
      </SimpleGrid>
      <FormButtons submit={shared.save} isSending={form.isSending} onCancel={onDone} />
    </form>
  );
}
