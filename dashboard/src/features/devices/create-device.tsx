// The dialog that creates a device; it opens the new device.
import { Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { idPattern } from '../../shared/form/id-pattern.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { useStrings } from '../../strings/strings.ts';

export function CreateDevice({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const { devices } = useStrings();
  return (
    <Dialog opened={isOpen} onClose={onClose} title={devices.create}>
      <Fields onDone={onClose} />
    </Dialog>
  );
}

function Fields({ onDone }: { readonly onDone: () => void }) {
  const { devices, shared } = useStrings();
  const isUser = useSession().status === 'user';
  const { data: facts } = useQuery(factsQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({
    initial: { id: '', name: '', sensors: '', visibility: facts?.defaultVisibility ?? 'private' },
    check: ({ id }) => (idPattern.test(id) ? {} : { id: devices.idWrong }),
    submit: async ({ id, name, sensors, visibility }) => {
      const body = {
        id,
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
          required
          label={shared.id}
          description={devices.idMeans}
          placeholder={devices.idExample}
          {...form.field('id')}
        />
        <TextInput
          label={shared.name}
          description={devices.nameMeans}
          placeholder={devices.nameExample}
          {...form.field('name')}
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
