// The editor of a notification: a sentence with blanks, the same rule as an expression beneath, and beside it what the
// rule would have done lately. What the server refuses, while typing or on sending, stands beside its blank.
import { Button, Group, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ApiProblem } from '../../../api/api-problem.ts';
import { api, call } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { faultWords } from '../../../shared/fault-words.ts';
import { type Form, useForm } from '../../../shared/form/use-form.ts';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import type { Strings } from '../../../strings/catalogue.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { isFilled } from './clauses.ts';
import { type Draft, fieldOf, sensorsOf, toBody } from './draft.ts';
import classes from './editor.module.css';
import { Expert } from './expert.tsx';
import { Replay } from './replay.tsx';
import { Tell } from './tell.tsx';
import { useReplay } from './use-replay.ts';
import { When } from './when.tsx';

/** Without `id` it makes a new one. */
export function Editor({ initial, id }: { readonly initial: Draft; readonly id?: string }) {
  const strings = usePageStrings();
  const { notifications, shared } = strings;
  const form = useEditorForm(initial, id);
  const replay = useReplay(form.values);
  const found = replay.error instanceof ApiProblem ? replay.error.faults : [];
  const faultOf = (field: keyof Draft) => {
    const fault = found.find(({ pointer }) => fieldOf(pointer) === field);
    return form.errorOf(field) ?? (fault && faultWords(fault, strings));
  };
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <div className={classes.editor}>
        <div className={classes.sentence}>
          <When form={form} faultOf={faultOf} />
          <Tell form={form} faultOf={faultOf} />
          <TextInput
            label={notifications.description}
            description={notifications.descriptionMeans}
            placeholder={notifications.descriptionExample}
            {...form.field('description')}
          />
          {form.problem !== undefined && <ProblemNotice error={form.problem} />}
          <Group>
            <Button type="submit" size="md" loading={form.isSending}>
              {id === undefined ? notifications.createSubmit : shared.save}
            </Button>
          </Group>
          <Expert form={form} fault={faultOf('expression')} />
        </div>
        <Replay draft={form.values} replay={replay} />
      </div>
    </form>
  );
}

function useEditorForm(initial: Draft, id: string | undefined): Form<Draft> {
  const { notifications } = usePageStrings();
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useForm<Draft>({
    initial,
    check: (draft) => check(draft, notifications),
    fieldOf,
    submit: async (draft) => {
      if (id === undefined)
        await call(api.POST('/api/v2/notifications', { body: toBody(draft, { isPatch: false }) as never }));
      else {
        const params = { path: { notification: id } };
        const body = toBody(draft, { isPatch: true }) as never;
        await call(api.PATCH('/api/v2/notifications/{notification}', { params, body }));
      }
      await queries.invalidateQueries({ queryKey: keys.notifications });
      toasts.show({ text: id === undefined ? notifications.created : notifications.saved });
      await navigate({ to: '/notifications' });
    },
  });
}

function check(draft: Draft, words: Strings['notifications']): Partial<Record<keyof Draft, string>> {
  const { clauses, devices, kind, usernames, channels, silenceS, message } = draft;
  const isAboutNothing = clauses?.list.length === 0 && (silenceS === undefined || sensorsOf(draft).length === 0);
  const isMessage = kind === 'message';
  const faults: [keyof Draft, string | false][] = [
    ['devices', devices.length === 0 && words.devicesMissing],
    ['expression', (isAboutNothing || (clauses !== undefined && !isFilled(clauses))) && words.clauseMissing],
    ['usernames', isMessage && usernames.length === 0 && !channels.includes('none') && words.peopleMissing],
    ['channels', isMessage && channels.length === 0 && words.waysMissing],
    ['message', isMessage && message.trim() === '' && words.messageMissing],
  ];
  return Object.fromEntries(faults.filter(([, fault]) => fault !== false));
}
