// The dialog that declares a gateway, or changes one.
import { ActionIcon, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { idFollowing } from '../../shared/form/id-from-name.ts';
import { idPattern } from '../../shared/form/id-pattern.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { askPosition } from '../../shared/map/ask-position.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import type { Gateway } from './gateway.ts';

interface GatewayFormProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The one to change; without, a new one. */
  readonly gateway?: Gateway;
}

export function GatewayForm(props: GatewayFormProps) {
  const { gateways } = usePageStrings();
  return (
    <Dialog
      opened={props.isOpen}
      onClose={props.onClose}
      title={props.gateway === undefined ? gateways.create : gateways.edit}
    >
      <Fields {...props} />
    </Dialog>
  );
}

interface Values {
  readonly id: string;
  readonly name: string;
  readonly visibility: 'public' | 'private';
  /** Latitude and longitude, with a comma between. */
  readonly location: string;
}

function Fields({ onClose, gateway }: GatewayFormProps) {
  const { gateways, devices, shared } = usePageStrings();
  const isUser = useSession().status === 'user';
  const { data: facts } = useQuery(factsQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const initial = valuesOf(gateway, facts?.defaultVisibility ?? 'private');
  const form = useForm<Values>({
    initial,
    check: ({ id, location }) => ({
      ...(idPattern.test(id) ? {} : { id: devices.idWrong }),
      ...(location.trim() === '' || parsePlace(location) !== undefined ? {} : { location: gateways.placeWrong }),
    }),
    fieldOf: (pointer) => (pointer.startsWith('/location') ? 'location' : undefined),
    submit: async (values) => {
      if (gateway === undefined) await create(values);
      else await change(gateway.id, initial, values);
      await queries.invalidateQueries({ queryKey: keys.gateways });
      toasts.show({ text: gateways.saved(values.name.trim() || values.id) });
      onClose();
      if (gateway === undefined) await navigate({ to: '/gateways/$gateway', params: { gateway: values.id } });
    },
  });
  const useHere = () =>
    askPosition(
      ({ latitude, longitude }) => form.set('location', `${latitude.toFixed(6)}, ${longitude.toFixed(6)}`),
      (fault) => toasts.show({ text: shared.noPosition[fault], isBad: true }),
    );
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          data-autofocus
          label={shared.name}
          placeholder={gateways.nameExample}
          {...form.field('name')}
          onChange={({ currentTarget: { value: name } }) => {
            if (gateway === undefined) form.set('id', idFollowing(form.values, name));
            form.set('name', name);
          }}
        />
        {gateway === undefined && (
          <TextInput
            required
            label={shared.id}
            description={gateways.idMeans}
            placeholder="gateway-1"
            {...form.field('id')}
          />
        )}
        <TextInput
          label={gateways.place}
          description={gateways.placeMeans}
          placeholder="16.03, -16.49"
          rightSection={
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={shared.useOwnPosition}
              title={shared.useOwnPosition}
              onClick={useHere}
            >
              <Icon name="pin" size={18} />
            </ActionIcon>
          }
          dir="ltr"
          {...form.field('location')}
        />
        {isUser && (
          <Radio.Group
            label={shared.visibility}
            value={form.values.visibility}
            onChange={(value) => form.set('visibility', value as Values['visibility'])}
          >
            <Stack gap={6} mt={6}>
              <Radio value="private" label={shared.private} description={gateways.privateMeans} />
              <Radio value="public" label={shared.public} description={gateways.publicMeans} />
            </Stack>
          </Radio.Group>
        )}
        <FormButtons
          submit={gateway === undefined ? gateways.createSubmit : shared.save}
          isSending={form.isSending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}

function valuesOf(gateway: Gateway | undefined, visibility: Values['visibility']): Values {
  const { latitude, longitude } = gateway?.location ?? {};
  return {
    id: gateway?.id ?? '',
    name: gateway?.name ?? '',
    visibility: gateway?.visibility ?? visibility,
    location: latitude === undefined || longitude === undefined ? '' : `${latitude}, ${longitude}`,
  };
}

function parsePlace(typed: string): { readonly latitude: number; readonly longitude: number } | undefined {
  const found = /^\s*(-?\d+(?:\.\d+)?)\s*[,; ]\s*(-?\d+(?:\.\d+)?)\s*$/.exec(typed);
  return found === null ? undefined : { latitude: Number(found[1]), longitude: Number(found[2]) };
}

async function create({ id, name, visibility, location }: Values): Promise<void> {
  const place = parsePlace(location);
  const body = {
    ...{ id, visibility },
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(place === undefined ? {} : { location: place }),
  };
  await call(api.POST('/api/v2/gateways', { body: body as never }));
}

/** What has changed alone, field by field. */
async function change(gateway: string, before: Values, { name, visibility, location }: Values): Promise<void> {
  const params = { path: { gateway } };
  if (name !== before.name) {
    await call(api.PUT('/api/v2/gateways/{gateway}/name', { params, body: name.trim() as never }));
  }
  const place = parsePlace(location);
  if (location !== before.location && place !== undefined) {
    await call(api.PUT('/api/v2/gateways/{gateway}/location', { params, body: place as never }));
  }
  if (visibility !== before.visibility) {
    await call(api.PUT('/api/v2/gateways/{gateway}/visibility', { params, body: visibility as never }));
  }
}
