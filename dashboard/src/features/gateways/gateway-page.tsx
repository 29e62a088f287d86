// A gateway: whether it is there, its devices with their last values, where it stands, and how to connect it.
import { Anchor, Box, Button, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { unlessGone } from '../../api/api-problem.ts';
import { api, call } from '../../api/client.ts';
import { factsQuery } from '../../api/facts.ts';
import { keys } from '../../api/query-keys.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';
import { AlarmList } from '../../shared/alarm/alarm-list.tsx';
import { Age } from '../../shared/device/age.tsx';
import { CreateDevice } from '../../shared/device/create-device.tsx';
import { DeviceList } from '../../shared/device/device-list.tsx';
import { removeWithUndo } from '../../shared/device/removals.ts';
import { SharingSection } from '../../shared/device/sharing-section.tsx';
import { RowsSkeleton } from '../../shared/list/rows-skeleton.tsx';
import { MapView } from '../../shared/map/map-view.tsx';
import { CopyButton } from '../../shared/page/copy-button.tsx';
import { Facts } from '../../shared/page/facts.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice, problemWords } from '../../shared/page/problem-notice.tsx';
import page from '../../shared/page/record-page.module.css';
import { Section } from '../../shared/page/section.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { Connect } from './connect.tsx';
import { type Gateway, gatewayKey, useGatewayAlarms, useGatewayDevices } from './gateway.ts';
import { GatewayForm } from './gateway-form.tsx';
import { GatewayState } from './gateway-state.tsx';
import classes from './gateways.module.css';

const route = getRouteApi('/gateways/$gateway');

export function GatewayPage() {
  const path = route.useParams();
  const {
    data: answered,
    error,
    refetch,
  } = useQuery({
    queryKey: keys.gateway(path.gateway),
    refetchInterval: 15_000,
    queryFn: () => call(api.GET('/api/v2/gateways/{gateway}', { params: { path } })),
  });
  // With what is wrong, which stands above all; without the ports of the server the lines that connect a gateway would be wrong, and then move.
  const { isLoading } = useQuery(factsQuery);
  const alarms = useGatewayAlarms(path.gateway);
  const areAlarmsComing = useSession().status === 'user' && !alarms.isFetched;
  const data = isLoading || areAlarmsComing ? undefined : unlessGone(answered, error);
  return (
    <>
      <PageHeader
        title={data?.name || path.gateway}
        subtitle={
          <>
            <span className={`${classes.id} d-ellipsis`}>{path.gateway}</span> <CopyButton text={path.gateway} />
          </>
        }
        actions={data !== undefined && <Acts gateway={data} />}
      />
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton height={320} />}
      {data !== undefined && (
        <>
          {alarms.data !== undefined && alarms.data.total > 0 && (
            <Box mb="lg">
              <AlarmList alarms={alarms.data.page} total={alarms.data.total} />
            </Box>
          )}
          <GatewayFacts gateway={data} />
          <div className={page.columns}>
            <Devices gateway={data} />
            <div>
              <Connect gateway={data} />
              <Place gateway={data} />
            </div>
          </div>
          <div className={classes.sharing}>
            <SharingSection of={{ kind: 'gateway', id: data.id }} owner={data.owner} />
          </div>
        </>
      )}
    </>
  );
}

function Acts({ gateway }: { readonly gateway: Gateway }) {
  const strings = usePageStrings();
  const { gateways, shared } = strings;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEditing, { open, close }] = useDisclosure(false);
  const { id, name } = gateway;
  const remove = () => {
    removeWithUndo({
      key: gatewayKey(id),
      text: gateways.removed(name || id),
      remove: async () => {
        await call(api.DELETE('/api/v2/gateways/{gateway}', { params: { path: { gateway: id } }, keepalive: true }));
        await queries.invalidateQueries({ queryKey: keys.gateways });
      },
      onFault: (error) => toasts.show({ text: problemWords(error, strings), isBad: true }),
    });
    void navigate({ to: '/gateways' });
  };
  return (
    <>
      <Button variant="default" leftSection={<Icon name="edit" />} onClick={open}>
        {gateways.editShort}
      </Button>
      <Button variant="default" leftSection={<Icon name="trash" />} onClick={remove}>
        {shared.remove}
      </Button>
      <GatewayForm isOpen={isEditing} onClose={close} gateway={gateway} />
    </>
  );
}

function GatewayFacts({ gateway }: { readonly gateway: Gateway }) {
  const { gateways, shared } = usePageStrings();
  const { owner, visibility, date_created, last_seen, refused } = gateway;
  const facts = [
    [gateways.state, <GatewayState key="state" gateway={gateway} />],
    [gateways.lastHeard, <Age key="seen" at={last_seen} />],
    ...(refused === undefined ? [] : [[gateways.refused, gateways.refusedTimes(refused)] as const]),
    [shared.owner, owner],
    [shared.visibility, visibility === 'public' ? shared.public : shared.private],
    [gateways.declared, <Age key="created" at={date_created} />],
  ] as const;
  return <Facts facts={facts} />;
}

function Devices({ gateway: { id } }: { readonly gateway: Gateway }) {
  const { gateways, devices: words } = usePageStrings();
  const [isCreating, { open, close }] = useDisclosure(false);
  const { data, error } = useGatewayDevices(id, limits.relatedDevicesMax);
  const total = data?.total ?? 0;
  return (
    <Section
      title={gateways.devices}
      words={data === undefined ? '\u00a0' : total === 0 ? gateways.noDevices : gateways.devicesCount(total)}
    >
      {error !== null && <ProblemNotice error={error} />}
      {data === undefined && error === null && <RowsSkeleton rows={1} rowHeight={48} />}
      <DeviceList label={gateways.devices} devices={data?.page ?? []} />
      <Button variant="default" size="xs" mt="sm" leftSection={<Icon name="plus" size={14} />} onClick={open}>
        {words.create}
      </Button>
      <CreateDevice isOpen={isCreating} onClose={close} gateway={id} />
      {total > limits.relatedDevicesMax && (
        <Anchor component={Link} to="/devices" search={{ gateway: id } as never} ms="md">
          {gateways.allDevices(total)}
        </Anchor>
      )}
    </Section>
  );
}

function Place({ gateway }: { readonly gateway: Gateway }) {
  const { gateways } = usePageStrings();
  const { latitude, longitude } = gateway.location ?? {};
  if (latitude === undefined || longitude === undefined) return null;
  const label = gateway.name || gateway.id;
  return (
    <Section title={gateways.place}>
      <MapView
        height={240}
        markers={[{ id: gateway.id, label, latitude, longitude, state: gateway.connected ? 'fresh' : 'never' }]}
      />
    </Section>
  );
}
