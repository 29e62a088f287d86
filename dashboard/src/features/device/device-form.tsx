// The dialog that changes what is known of a device: domain, gateway, how long its values are kept, what else is noted of
// it, and whom it belongs to. Each field has a call of its own, so only what has changed is sent, and what the server says
// of a field stands beside it. The owner comes last: who hands a device over may not change it afterwards.
import { Autocomplete, Checkbox, NumberInput, Stack, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiProblem } from '../../api/api-problem.ts';
import { api, call, type Device } from '../../api/client.ts';
import { domainsQuery } from '../../api/domains.ts';
import { keys } from '../../api/query-keys.ts';
import type { Rights } from '../../api/rights.ts';
import { limits } from '../../limits.ts';
import { UserInput } from '../../shared/account/user-input.tsx';
import { GatewayInput } from '../../shared/device/gateway-input.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { idPattern } from '../../shared/form/id-pattern.ts';
import { MoreFields } from '../../shared/form/more-fields.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';

export interface DeviceFormProps {
  readonly device: Device;
  readonly rights: Rights;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function DeviceForm(props: DeviceFormProps) {
  const { device: words } = usePageStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={words.edit}>
      <Fields {...props} />
    </Dialog>
  );
}

interface Values {
  readonly name: string;
  readonly domain: string;
  readonly gateway_id: string;
  readonly deployed: boolean;
  readonly retention_days: number | '';
  /** Plain text in the field `notes` of the device's `meta`. */
  readonly notes: string;
  /** What else is in `meta`: JSON as typed; empty: nothing. */
  readonly meta: string;
  readonly owner: string;
}

function valuesOf(device: Device): Values {
  return {
    name: device.name ?? '',
    domain: device.domain ?? '',
    gateway_id: device.gateway_id ?? '',
    deployed: device.deployed ?? false,
    retention_days: device.retention_days ?? '',
    ...metaValues(device.meta),
    owner: device.owner,
  };
}

function Fields({ device, rights, onClose }: DeviceFormProps) {
  const { device: words, shared } = usePageStrings();
  const queries = useQueryClient();
  const before = valuesOf(device);
  const form = useForm<Values>({
    initial: before,
    check: (values) => check(values, words),
    submit: async (values) => {
      try {
        await send(device.id, before, values);
      } finally {
        await Promise.all([
          queries.invalidateQueries({ queryKey: keys.device(device.id) }),
          queries.invalidateQueries({ queryKey: keys.devices }),
        ]);
      }
      toasts.show({ text: shared.saved });
      onClose();
      // Who has handed it over may not see it any more, whatever is still known of it here.
      if (values.owner.trim() !== before.owner) await queries.resetQueries({ queryKey: keys.device(device.id) });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput data-autofocus label={shared.name} maxLength={256} {...form.field('name')} />
        <DomainInput form={form} />
        <GatewayInput
          value={form.values.gateway_id}
          onChange={(gateway) => form.set('gateway_id', gateway)}
          error={form.errorOf('gateway_id')}
        />
        <Checkbox
          label={words.deployed}
          description={words.deployedMeans}
          checked={form.values.deployed}
          onChange={(event) => form.set('deployed', event.currentTarget.checked)}
        />
        <NumberInput
          label={words.retention}
          description={words.retentionMeans}
          min={0}
          allowDecimal={false}
          suffix={words.retentionDays}
          value={form.values.retention_days}
          onChange={(value) => form.set('retention_days', value === '' ? '' : Number(value))}
          error={form.errorOf('retention_days')}
        />
        <Textarea
          label={words.meta}
          description={words.metaMeans}
          autosize
          minRows={2}
          maxRows={10}
          {...form.field('notes')}
        />
        <MoreFields isNeeded={form.errorOf('meta') !== undefined || before.meta !== ''}>
          <Textarea
            label={words.metaJson}
            description={words.metaJsonMeans}
            placeholder='{"crop": "onion"}'
            autosize
            minRows={2}
            maxRows={10}
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            {...form.field('meta')}
          />
        </MoreFields>
        {rights.isManager && (
          <UserInput
            label={shared.owner}
            description={words.ownerMeans}
            value={form.values.owner}
            onChange={(owner) => form.set('owner', owner)}
            error={form.errorOf('owner')}
          />
        )}
        <FormButtons submit={shared.save} isSending={form.isSending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

/** The domains in use, to choose from; any other may be typed. */
function DomainInput({ form }: { readonly form: Form<Values> }) {
  const { device: words } = usePageStrings();
  const { data = [] } = useQuery(domainsQuery);
  return (
    <Autocomplete
      label={words.domain}
      description={words.domainMeans}
      placeholder={words.domainExample}
      data={data}
      limit={limits.completionsMax}
      value={form.values.domain}
      onChange={(domain) => form.set('domain', domain)}
      error={form.errorOf('domain')}
      autoComplete="off"
    />
  );
}

function check({ gateway_id: gateway, meta, owner }: Values, words: Strings['device']) {
  return {
    ...(gateway.trim() === '' || idPattern.test(gateway.trim()) ? {} : { gateway_id: words.gatewayWrong }),
    ...(parseMeta(meta) === undefined ? { meta: words.metaWrong } : {}),
    ...(owner.trim() === '' ? { owner: words.ownerMissing } : {}),
  };
}

/** An object, or null for none; undefined where it is neither. */
function parseMeta(typed: string): object | null | undefined {
  if (typed.trim() === '') return null;
  try {
    const parsed: unknown = JSON.parse(typed);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Notes are the text `notes`; where that is something else, it is data of a program. */
function metaValues(meta: Device['meta']): Pick<Values, 'notes' | 'meta'> {
  const { notes, ...rest } = (meta ?? {}) as Readonly<Record<string, unknown>>;
  const isText = typeof notes === 'string';
  const others = isText || notes === undefined ? rest : { notes, ...rest };
  const json = Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2);
  return { notes: isText ? notes : '', meta: json };
}

/** Both as the server has them in one object; null where there is nothing. */
function metaOf({ notes, meta }: Values): object | null {
  const text = notes.trim();
  const all = { ...parseMeta(meta), ...(text === '' ? {} : { notes: text }) };
  return Object.keys(all).length === 0 ? null : all;
}

/** @throws ApiProblem that names the field */
async function send(device: string, before: Values, values: Values): Promise<void> {
  const params = { path: { device } };
  const { name, domain, gateway_id: gateway, deployed, retention_days: days, owner } = values;
  const putMeta = () => call(api.PUT('/api/v2/devices/{device}/meta', { params, body: metaOf(values) as never }));
  // null takes a field away; the types of the schema have the values alone.
  const bodies: Readonly<Record<Exclude<keyof Values, 'notes'>, () => Promise<unknown>>> = {
    name: () => call(api.PUT('/api/v2/devices/{device}/name', { params, body: name.trim() })),
    domain: () => call(api.PUT('/api/v2/devices/{device}/domain', { params, body: domain.trim() })),
    gateway_id: () => call(api.PUT('/api/v2/devices/{device}/gateway_id', { params, body: gateway.trim() })),
    deployed: () => call(api.PUT('/api/v2/devices/{device}/deployed', { params, body: deployed as never })),
    retention_days: () => {
      const body = (days === '' ? null : days) as never;
      return call(api.PUT('/api/v2/devices/{device}/retention_days', { params, body }));
    },
    meta: putMeta,
    owner: () => call(api.PUT('/api/v2/devices/{device}/owner', { params, body: owner.trim() })),
  };
  const isNoted = values.notes.trim() !== before.notes.trim();
  for (const [field, put] of Object.entries(bodies) as [keyof typeof bodies, () => Promise<unknown>][]) {
    if (values[field] === before[field] && !(field === 'meta' && isNoted)) continue;
    await put().catch((error: unknown) => {
      const place = field === 'meta' && isNoted ? 'notes' : field;
      throw error instanceof ApiProblem ? error.at(`/${place}`) : error;
    });
  }
}
