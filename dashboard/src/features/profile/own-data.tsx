// Who one is and how one is reached, and who may use that.
import { Button, Group, NativeSelect } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { isOtherEmail, mailConfirmation, OwnEmail } from '../../shared/account/own-email.tsx';
import { PersonFields, personBody, personValues } from '../../shared/account/person-fields.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

const senders = ['everyone', 'sharers', 'self'] as const;

export function OwnData({ me }: { readonly me: Schemas['User'] }) {
  const { person, profile, shared } = usePageStrings();
  const queries = useQueryClient();
  const { data: facts } = useQuery(factsQuery);
  const form = useForm({
    initial: { messages_from: me.messages_from ?? 'everyone', current: '', ...personValues(me) },
    submit: async (values) => {
      const hasNewEmail = isOtherEmail(me, values.email);
      const current = hasNewEmail ? { current: values.current } : {};
      const body = { ...personBody(values), messages_from: values.messages_from, ...current };
      await call(api.PUT('/api/v2/users/{user}', { params: { path: { user: me.id } }, body }));
      await Promise.all([keys.me, keys.users].map((queryKey) => queries.invalidateQueries({ queryKey })));
      form.set('current', '');
      const isMailed = hasNewEmail && values.email.trim() !== '' && facts?.mailsLinks === true;
      // Where it cannot be sent, the word below the address says that it is not confirmed, with a button.
      const isSent = isMailed && (await mailConfirmation(me.id).then(() => true, () => false)); // biome-ignore format: one line
      toasts.show({ text: isSent ? `${profile.saved} ${person.linkSent(values.email.trim())}` : profile.saved });
    },
  });
  return (
    <Section title={profile.data} words={person.reachedWords}>
      <form onSubmit={form.onSubmit} noValidate>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        {/* It has the fields of a person, and one more. */}
        <PersonFields
          isOwn
          form={form as unknown as Form<ReturnType<typeof personValues>>}
          belowEmail={<OwnEmail me={me} email={form.values.email} current={form.field('current')} />}
        />
        <NativeSelect
          mt="md"
          label={profile.messagesFrom}
          data={senders.map((value) => ({ value, label: profile[value] }))}
          {...form.field('messages_from')}
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
