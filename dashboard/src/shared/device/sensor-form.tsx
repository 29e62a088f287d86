// The dialog that adds a sensor to a device, or changes one: name, unit, what is measured, how long it is kept.
import { Autocomplete, NumberInput, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, call, type Sensor } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Dialog } from '../form/dialog.tsx';
import { FormButtons } from '../form/form-buttons.tsx';
import { MoreFields } from '../form/more-fields.tsx';
import { useForm } from '../form/use-form.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';

export interface SensorFormProps {
  readonly device: string;
  /** Left out: a new one. */
  readonly sensor?: Sensor | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function SensorForm(props: SensorFormProps) {
  const { sensor } = usePageStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={props.sensor === undefined ? sensor.add : sensor.edit}>
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ device, sensor: known, onClose }: SensorFormProps) {
  const { shared, sensor } = usePageStrings();
  const queries = useQueryClient();
  const kinds = useQuery({
    queryKey: ['ontologies', 'quantities'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => call(api.GET('/api/v2/ontologies/quantity_kinds')),
  });
  const form = useForm({
    initial: {
      id: known?.id ?? '',
      name: known?.name ?? '',
      unit: known?.unit ?? '',
      quantity_kind: known?.quantity_kind ?? '',
      sensing_device: known?.sensing_device ?? '',
      retention_days: known?.retention_days ?? ('' as number | ''),
    },
    check: ({ id }) => (id.trim() === '' ? { id: sensor.idNeeded } : {}),
    submit: async ({ retention_days: days, ...texts }) => {
      const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== ''));
      const kept = { calib: known?.calib, meta: known?.meta };
      const body = { ...kept, ...given, ...(known === undefined && days !== '' ? { retention_days: days } : {}) };
      await call(api.POST('/api/v2/devices/{device}/sensors', { params: { path: { device } }, body: body as never }));
      if (known !== undefined && days !== (known.retention_days ?? '')) {
        const params = { path: { device, sensor: known.id } };
        const path = '/api/v2/devices/{device}/sensors/{sensor}/retention_days';
        // null takes it away, so that what holds for the device counts.
        await call(api.PUT(path, { params, body: (days === '' ? null : days) as never }));
      }
      onClose();
      // Said once it is to be seen.
      await queries.invalidateQueries({ queryKey: keys.device(device) });
      toasts.show({ text: known === undefined ? sensor.added(texts.name || texts.id) : shared.saved });
    },
  });
  const more = (
    <>
      <Autocomplete
        label={sensor.quantity}
        // Two kinds may go by one name; a list of choices has each once.
        data={[...new Set((kinds.data ?? []).map(({ label }) => label ?? ''))].filter((label) => label !== '')}
        limit={8}
        value={form.values.quantity_kind}
        onChange={(value) => form.set('quantity_kind', value)}
        error={form.errorOf('quantity_kind')}
      />
      <TextInput label={sensor.sensingDevice} {...form.field('sensing_device')} />
      <NumberInput
        label={sensor.retention}
        description={sensor.retentionMeans}
        min={0}
        allowDecimal={false}
        suffix={sensor.retentionDays}
        value={form.values.retention_days}
        onChange={(value) => form.set('retention_days', value === '' ? '' : Number(value))}
        error={form.errorOf('retention_days')}
      />
    </>
  );
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        {known === undefined && (
          <TextInput
            data-autofocus
            required
            label={shared.id}
            description={sensor.idMeans}
            placeholder="TC"
            {...form.field('id')}
          />
        )}
        <TextInput data-autofocus label={shared.name} placeholder={sensor.nameExample} {...form.field('name')} />
        <TextInput label={sensor.unit} description={sensor.unitMeans} placeholder="°C" {...form.field('unit')} />
        {known === undefined ? <MoreFields isNeeded={form.isRefused}>{more}</MoreFields> : more}
        <FormButtons
          submit={known === undefined ? sensor.add : shared.save}
          isSending={form.isSending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}
