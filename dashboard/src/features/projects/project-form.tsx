// The dialog that makes a project, or changes one: its name, its devices, its gateways.
import { Input, MultiSelect, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call, callPage } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import type { components } from '../../api/schema.generated.ts';
import { DevicePicker } from '../../shared/device/device-picker.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export type Project = components['schemas']['Project'];

/** Under which a deleted one is left out until it is gone. */
export function projectKey(id: string): string {
  return `project/${id}`;
}

interface ProjectFormProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The one to change; without, a new one. */
  readonly project?: Project;
}

export function ProjectForm(props: ProjectFormProps) {
  const { projects } = usePageStrings();
  return (
    <Dialog
      opened={props.isOpen}
      onClose={props.onClose}
      title={props.project === undefined ? projects.create : projects.edit}
    >
      <Fields {...props} />
    </Dialog>
  );
}

interface Values {
  readonly name: string;
  readonly device_ids: readonly string[];
  readonly gateway_ids: readonly string[];
}

function Fields({ onClose, project }: ProjectFormProps) {
  const { projects, shared } = usePageStrings();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { name = '', device_ids = [], gateway_ids = [] } = project ?? {};
  const form = useForm<Values>({
    initial: { name, device_ids, gateway_ids },
    check: (values) => (values.name.trim() === '' ? { name: projects.nameMissing } : {}),
    submit: async (values) => {
      const id = project === undefined ? await create(values) : await change(project, values);
      await queries.invalidateQueries({ queryKey: keys.projects });
      toasts.show({ text: projects.saved(values.name.trim()) });
      onClose();
      if (project === undefined) await navigate({ to: '/projects/$project', params: { project: id } });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          required
          data-autofocus
          label={shared.name}
          placeholder={projects.nameExample}
          {...form.field('name')}
        />
        <Input.Wrapper
          labelElement="div"
          label={projects.devices}
          error={form.errorOf('device_ids')}
          inputWrapperOrder={['label', 'error', 'input']}
        >
          <DevicePicker chosen={form.values.device_ids} onChange={(chosen) => form.set('device_ids', chosen)} />
        </Input.Wrapper>
        <Gateways
          chosen={form.values.gateway_ids}
          onChange={(chosen) => form.set('gateway_ids', chosen)}
          error={form.errorOf('gateway_ids')}
        />
        <FormButtons
          submit={project === undefined ? projects.createSubmit : shared.save}
          isSending={form.isSending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}

interface GatewaysProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly error: string | undefined;
}

function Gateways({ chosen, onChange, error }: GatewaysProps) {
  const { projects } = usePageStrings();
  const query = { limit: 1000, offset: 0 };
  const { data } = useQuery({
    queryKey: keys.gatewayList(query),
    queryFn: () => callPage(api.GET('/api/v2/gateways', { params: { query } })),
  });
  const known = (data?.page ?? []).map(({ id, name }) => ({ value: id, label: name || id }));
  const gone = chosen.filter((id) => !known.some(({ value }) => value === id));
  return (
    <MultiSelect
      searchable
      label={projects.gateways}
      data={[...known, ...gone.map((id) => ({ value: id, label: id }))]}
      value={[...chosen]}
      onChange={onChange}
      error={error}
    />
  );
}

async function create({ name, ...rest }: Values): Promise<string> {
  const body = { name: name.trim(), ...rest };
  return (await call(api.POST('/api/v2/projects', { body: body as never }))) as unknown as string;
}

/** What has changed alone, field by field. */
async function change({ id, ...before }: Project, { name, device_ids, gateway_ids }: Values): Promise<string> {
  const params = { path: { project: id } };
  if (name !== before.name) {
    await call(api.PUT('/api/v2/projects/{project}/name', { params, body: name.trim() as never }));
  }
  if (device_ids !== before.device_ids) {
    await call(api.PUT('/api/v2/projects/{project}/device_ids', { params, body: device_ids as never }));
  }
  if (gateway_ids !== before.gateway_ids) {
    await call(api.PUT('/api/v2/projects/{project}/gateway_ids', { params, body: gateway_ids as never }));
  }
  return id;
}
