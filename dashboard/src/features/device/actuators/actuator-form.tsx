// The dialog that adds an actuator to a device, or changes one.
import { NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Device } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import { Dialog } from '../../../shared/form/dialog.tsx';
import { FormButtons } from '../../../shared/form/form-buttons.tsx';
import { useForm } from '../../../shared/form/use-form.ts';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageStrings } from '../../../strings/strings.ts';

type Actuator = Device['actuators'][number];

export interface ActuatorFormProps {
  readonly device: string;
  /** Left out: a new one. */
  readonly actuator: Actuator | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function ActuatorForm(props: ActuatorFormProps) {
  const { device: words } = usePageStrings();
  return (
    <Dialog
      opened={props.isOpen}
      onClose={props.onClose}
      title={props.actuator === undefined ? words.addActuator : words.editActuator}
    >
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ device, actuator: known, onClose }: ActuatorFormProps) {
  const { device: words, shared } = usePageStrings();
  const queries = useQueryClient();
  const type = known?.actuator_value_type ?? known?.value_type;
  const form = useForm({
    initial: {
      id: known?.id ?? '',
      name: known?.name ?? '',
      actuator_kind: known?.actuator_kind ?? '',
      value_type: type ?? (known === undefined ? 'bool' : ''),
      valid_for: String(known?.valid_for ?? ''),
    },
    check: ({ id, valid_for }) => ({
      ...(id.trim() === '' ? { id: words.idNeeded } : {}),
      ...(/^\d*$/.test(valid_for.trim()) ? {} : { valid_for: words.validForWrong }),
    }),
    submit: async (values) => {
      const given = Object.fromEntries(Object.entries(values).filter(([, text]) => text.trim() !== ''));
      // The actuator is replaced: what is left out goes.
      const validFor = given['valid_for'] === undefined ? {} : { valid_for: Number(given['valid_for']) };
      const body = { meta: known?.meta, ...given, ...validFor };
      await call(api.POST('/api/v2/devices/{device}/actuators', { params: { path: { device } }, body: body as never }));
      onClose();
      // Said once it is to be seen.
      await queries.invalidateQueries({ queryKey: keys.device(device) });
      toasts.show({ text: known === undefined ? words.actuatorAdded(values.name || values.id) : shared.saved });
    },
  });
  const types = [
    { value: 'bool', label: words.typeBool },
    { value: 'number', label: words.typeNumber },
    { value: 'string', label: words.typeString },
    { value: 'object', label: words.typeJson },
  ];
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        {known === undefined && (
          <TextInput
            data-autofocus
            required
            label={shared.id}
            description={words.actuatorIdMeans}
            placeholder="valve-1"
            {...form.field('id')}
          />
        )}
        <TextInput data-autofocus label={shared.name} {...form.field('name')} />
        <TextInput label={words.kind} {...form.field('actuator_kind')} />
        <NativeSelect
          label={words.valueType}
          data={type === undefined && known !== undefined ? [{ value: '', label: '–' }, ...types] : types}
          {...form.field('value_type')}
        />
        <TextInput
          label={words.validFor}
          description={words.validForMeans}
          inputMode="numeric"
          placeholder="3600"
          {...form.field('valid_for')}
        />
        <FormButtons
          submit={known === undefined ? words.addActuator : shared.save}
          isSending={form.isSending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}
