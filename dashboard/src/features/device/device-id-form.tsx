// The dialog that gives a device another id, says what becomes of the one before, and lists those by which it still answers.
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call, type Device } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { idPattern } from '../../shared/form/id-pattern.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useLocale, useStrings } from '../../strings/strings.ts';
import classes from './device-id-form.module.css';

export interface DeviceIdFormProps {
  readonly device: Device;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function DeviceIdForm(props: DeviceIdFormProps) {
  const { device: words } = useStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={words.otherId}>
      {/* Inside, so that each opening begins anew. */}
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ device, onClose }: DeviceIdFormProps) {
  const { device: words } = useStrings();
  const dayOf = useDay();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({
    initial: { id: device.id },
    check: ({ id }) => (idPattern.test(id.trim()) ? {} : { id: words.gatewayWrong }),
    submit: async (values) => {
      const id = values.id.trim();
      if (id !== device.id) {
        await call(api.PUT('/api/v2/devices/{device}/id', { params: { path: { device: device.id } }, body: id })).catch(
          (error: unknown) => {
            throw error instanceof ApiProblem ? error.at('/id') : error;
          },
        );
        toasts.show({ text: words.otherIdDone(id) });
        await navigate({ to: '/devices/$device', params: { device: id }, replace: true });
        await queries.invalidateQueries({ queryKey: keys.devices });
      }
      onClose();
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <Text>{words.otherIdMeans(device.id, dayOf(serverNow() + limits.formerIdMs))}</Text>
        <TextInput
          data-autofocus
          label={words.otherIdField}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          maxLength={256}
          {...form.field('id')}
        />
        <FormerIds device={device.id} dayOf={dayOf} />
        <FormButtons submit={words.otherIdGive} isSending={form.isSending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

function FormerIds({ device, dayOf }: { readonly device: string; readonly dayOf: (at: string | number) => string }) {
  const { device: words } = useStrings();
  const queries = useQueryClient();
  const { data = [], error } = useQuery({
    queryKey: keys.formerIds(device),
    queryFn: () => call(api.GET('/api/v2/devices/{device}/former_ids', { params: { path: { device } } })),
    staleTime: 0,
  });
  const [fault, setFault] = useState<unknown>();
  const end = async (former: string) => {
    setFault(undefined);
    try {
      await call(api.DELETE('/api/v2/devices/{device}/former_ids/{former}', { params: { path: { device, former } } }));
    } catch (refusal) {
      setFault(refusal);
    }
    await queries.invalidateQueries({ queryKey: keys.formerIds(device) });
  };
  if (error !== null) return <ProblemNotice error={error} />;
  if (data.length === 0) return null;
  return (
    <section>
      <Text fw={600}>{words.formerIds}</Text>
      {fault !== undefined && <ProblemNotice error={fault} />}
      <ul className={classes.list}>
        {data.map(({ id, until }) => (
          <li key={id}>
            <Group gap="sm" justify="space-between" wrap="nowrap">
              <div className={classes.former}>
                <div className="d-ellipsis">{id}</div>
                <Text size="sm" c="dimmed">
                  {words.formerUntil(dayOf(until))}
                </Text>
              </div>
              <Button variant="default" size="xs" aria-label={words.formerEndOf(id)} onClick={() => void end(id)}>
                {words.formerEnd}
              </Button>
            </Group>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Writes the day of a moment, in the reader's language. */
function useDay(): (at: string | number) => string {
  const { tag } = useLocale();
  return (at) => new Date(at).toLocaleDateString(tag, { dateStyle: 'long' });
}
