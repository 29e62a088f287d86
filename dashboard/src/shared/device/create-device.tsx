// The dialog that creates a device; it opens the new device.
import { Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { Dialog } from '../form/dialog.tsx';
import { FormButtons } from '../form/form-buttons.tsx';
import { idFollowing } from '../form/id-from-name.ts';
import { idPattern } from '../form/id-pattern.ts';
import { useForm } from '../form/use-form.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';
import { GatewayInput } from './gateway-input.tsx';

interface CreateDeviceProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The gateway it comes through, where that is known. */
  readonly gateway?: string;
}

export function CreateDevice({ isOpen, onClose, gateway = '' }: CreateDeviceProps) {
  const { devices } = usePageStrings();
  return (
    <Dialog opened={isOpen} onClose={onClose} title={devices.create}>
      <Fields onDone={onClose} gateway={gateway} />
    </Dialog>
  );
}

interface FieldsProps {
  readonly onDone: () => void;
  readonly gateway: string;
}

function Fields({ onDone, gateway }: FieldsProps) {
  const { device: words, devices, shared } = usePageStrings();
  const isUser = useSession().status === 'user';
  const { data: facts } = useQuery(factsQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({
    initial: { id: '', name: '', sensors: '', gateway_id: gateway, visibility: facts?.defaultVisibility ?? 'private' },
    check: ({ id, gateway_id: named }) => ({
      ...(idPattern.test(id) ? {} : { id: devices.idWrong }),
      ...(named.trim() === '' || idPattern.test(named.trim()) ? {} : { gateway_id: words.gatewayWrong }),
    }),
    submit: async ({ id, name, sensors, gateway_id: named, visibility }) => {
      const body = {
        id,
        ...(named.trim() === '' ? {} : { gateway_id: named.trim() }),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        visibility,
        sensors: parseSensors(sensors),
      };
      await call(api.POST('/api/v2/devices', { body: body as never }));
      await queries.invalidateQueries({ queryKey: keys.devices });
      toasts.show({ text: devices.created(name.trim() || id) });
      onDone();
      await navigate({ to: '/devices/$device', params: { device: id } });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          data-autofocus
          label={shared.name}
          description={devices.nameMeans}
          placeholder={devices.nameExample}
          {...form.field('name')}
          onChange={({ currentTarget: { value: name } }) => {
            form.set('id', idFollowing(form.values, name));
            form.set('name', name);
          }}
        />
        <TextInput
          required
          label={shared.id}
          description={devices.idMeans}
          placeholder={devices.idExample}
          {...form.field('id')}
        />
        <Textarea
          label={devices.sensors}
          description={devices.sensorsMeans}
          placeholder={'TC °C\nRH %'}
          autosize
          minRows={2}
          maxRows={8}
          spellCheck={false}
          {...form.field('sensors')}
        />
        <GatewayInput
          value={form.values.gateway_id}
          onChange={(named) => form.set('gateway_id', named)}
          error={form.errorOf('gateway_id')}
        />
        {isUser && (
          <Radio.Group
            label={shared.visibility}
            value={form.values.visibility}
            onChange={(value) => form.set('visibility', value as 'public' | 'private')}
          >
            <Stack gap={6} mt={6}>
              <Radio value="private" label={shared.private} description={shared.privateMeans} />
              <Radio value="public" label={shared.public} description={shared.publicMeans} />
            </Stack>
          </Radio.Group>
        )}
        <FormButtons submit={devices.createSubmit} isSending={form.isSending} onCancel={onDone} />
      </Stack>
    </form>
  );
}

/** A sensor a line: its id, and after a space its unit. */
function parseSensors(text: string): { readonly id: string; readonly unit?: string }[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', ...unit] = line.split(/\s+/);
      return unit.length === 0 ? { id } : { id, unit: unit.join(' ') };
    });
}
