// The dialog that gives a device, or a sensor of it, another id, says what becomes of the one before, and lists those by which it still answers.
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { Dialog } from '../form/dialog.tsx';
import { FormButtons } from '../form/form-buttons.tsx';
import { idPattern } from '../form/id-pattern.ts';
import { useForm } from '../form/use-form.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';
import classes from './id-form.module.css';

/** A device, or a sensor of it. */
interface Renamed {
  readonly device: string;
  readonly sensor?: string;
}

export interface IdFormProps extends Renamed {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function IdForm(props: IdFormProps) {
  const { device: words } = usePageStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={words.otherId}>
      {/* Inside, so that each opening begins anew. */}
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ onClose, device, sensor }: IdFormProps) {
  const { device: words, sensor: sensorWords } = usePageStrings();
  const dayOf = useDay();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const present = sensor ?? device;
  const form = useForm({
    initial: { id: present },
    check: ({ id }) => (idPattern.test(id.trim()) ? {} : { id: words.gatewayWrong }),
    submit: async (values) => {
      const id = values.id.trim();
      if (id !== present) {
        await give({ device, sensor }, id).catch((error: unknown) => {
          throw error instanceof ApiProblem ? error.at('/id') : error;
        });
        toasts.show({ text: words.otherIdDone(id) });
        if (sensor === undefined) await navigate({ to: '/devices/$device', params: { device: id }, replace: true });
        else await navigate({ to: '/devices/$device/sensors/$sensor', params: { device, sensor: id }, replace: true });
        await queries.invalidateQueries({ queryKey: sensor === undefined ? keys.devices : keys.device(device) });
      }
      onClose();
    },
  });
  const meaning = sensor === undefined ? words.otherIdMeans : sensorWords.otherIdMeans;
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <Text>{meaning(present, dayOf(serverNow() + limits.formerIdMs))}</Text>
        <TextInput
          data-autofocus
          label={words.otherIdField}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          maxLength={256}
          {...form.field('id')}
        />
        <FormerIds of={{ device, ...(sensor === undefined ? {} : { sensor }) }} dayOf={dayOf} />
        <FormButtons submit={words.otherIdGive} isSending={form.isSending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

function FormerIds({ of, dayOf }: { readonly of: Renamed; readonly dayOf: (at: string | number) => string }) {
  const { device: words } = usePageStrings();
  const queries = useQueryClient();
  const queryKey = keys.formerIds(of.device, of.sensor);
  const { data = [], error } = useQuery({ queryKey, queryFn: () => listFormer(of), staleTime: 0 });
  const [fault, setFault] = useState<unknown>();
  const end = async (former: string) => {
    setFault(undefined);
    try {
      await endFormer(of, former);
    } catch (refusal) {
      setFault(refusal);
    }
    await queries.invalidateQueries({ queryKey });
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

function give({ device, sensor }: { readonly device: string; readonly sensor: string | undefined }, id: string) {
  return sensor === undefined
    ? call(api.PUT('/api/v2/devices/{device}/id', { params: { path: { device } }, body: id }))
    : call(api.PUT('/api/v2/devices/{device}/sensors/{sensor}/id', { params: { path: { device, sensor } }, body: id }));
}

function listFormer({ device, sensor }: Renamed) {
  return sensor === undefined
    ? call(api.GET('/api/v2/devices/{device}/former_ids', { params: { path: { device } } }))
    : call(api.GET('/api/v2/devices/{device}/sensors/{sensor}/former_ids', { params: { path: { device, sensor } } }));
}

function endFormer({ device, sensor }: Renamed, former: string) {
  return sensor === undefined
    ? call(api.DELETE('/api/v2/devices/{device}/former_ids/{former}', { params: { path: { device, former } } }))
    : call(
        api.DELETE('/api/v2/devices/{device}/sensors/{sensor}/former_ids/{former}', {
          params: { path: { device, sensor, former } },
        }),
      );
}

/** Writes the day of a moment, in the reader's language. */
function useDay(): (at: string | number) => string {
  const { tag } = usePageLocale();
  return (at) => new Date(at).toLocaleDateString(tag, { dateStyle: 'long' });
}
