// A device: who it is, its sensors as tiles that come live, their joint chart, its place, its actuators, and in tabs what
// belongs around it. Tab, chosen sensors and span stand in the address.
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { unlessGone } from '../../api/api-problem.ts';
import type { Device } from '../../api/client.ts';
import { deviceQuery } from '../../api/devices.ts';
import { noRights, type Rights, rightsQuery } from '../../api/rights.ts';
import { serverNow } from '../../api/server-time.ts';
import type { LiveDatapoint } from '../../api/use-live.ts';
import { limits } from '../../limits.ts';
import { OpenAlarms } from '../../shared/alarm/open-alarms.tsx';
import { spanStep } from '../../shared/chart/span-steps.ts';
import { useLiveDevice } from '../../shared/device/use-live-device.ts';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import type { Setting } from './activity/use-activity.ts';
import { Actuators } from './actuators/actuators.tsx';
import { DeviceAbout } from './device-about.tsx';
import { useAlarmsAreComing } from './device-alarms.tsx';
import { DeviceHeader } from './device-header.tsx';
import { DevicePlace } from './device-place.tsx';
import type { DeviceSearch } from './device-search.ts';
import { DeviceTabs } from './device-tabs.tsx';
import { JointChart } from './joint-chart.tsx';
import { SensorTiles } from './sensor-tiles.tsx';

const route = getRouteApi('/devices/$device');

export function DevicePage() {
  const { device: id } = route.useParams();
  const { data, error, refetch } = useQuery(deviceQuery(id));
  const device = unlessGone(data, error);
  const { data: rights = noRights, isPending } = useQuery(rightsQuery(id));
  const navigate = useNavigate();
  const search = route.useSearch();
  const areAlarmsComing = useAlarmsAreComing(id, search);
  // An id that it had before leads here; all that is kept of it stands under the present one.
  const presentId = device?.id ?? id;
  useEffect(() => {
    if (presentId !== id)
      void navigate({ to: '/devices/$device', params: { device: presentId }, search, replace: true });
  }, [presentId, id, search, navigate]);
  if (presentId !== id) return <Waiting id={presentId} />;
  if (device !== undefined)
    return <Page key={id} device={device} rights={isPending || areAlarmsComing ? undefined : rights} />;
  return error === null ? (
    <Waiting id={id} />
  ) : (
    <>
      <PageHeader title={id} subtitle={id} />
      <ProblemNotice error={error} retry={() => void refetch()} />
    </>
  );
}

function Waiting({ id }: { readonly id: string }) {
  return (
    <>
      <PageHeader title={id} subtitle={id} />
      <Skeleton height={240} radius="md" />
    </>
  );
}

/** `rights` are undefined until they and the open alarms are known. */
function Page({ device, rights }: { readonly device: Device; readonly rights: Rights | undefined }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [arrived, setArrived] = useState<LiveDatapoint>();
  const [settings, setSettings] = useState<readonly Setting[]>([]);
  useLiveDevice(device.id, {
    onArrival: setArrived,
    onSetting: ({ actuator_id: actuator, value }) =>
      setSettings((before) => [{ actuator, value, atMs: serverNow() }, ...before].slice(0, limits.activitySettingsMax)),
  });
  const change = (changed: DeviceSearch) =>
    void navigate({
      to: '/devices/$device',
      params: { device: device.id },
      search: { ...search, ...changed },
      ...spanStep(changed),
      resetScroll: false,
    });
  // What may be pressed is known before anything can be, so that nothing moves away from under a finger.
  if (rights === undefined) return <Waiting id={device.id} />;
  const parts = { device, rights, search, onChange: change };
  return (
    <>
      <DeviceHeader device={device} rights={rights} />
      <OpenAlarms device={device.id} />
      <SensorTiles device={device} rights={rights} />
      <Actuators device={device} rights={rights} />
      <JointChart {...parts} />
      <DeviceTabs {...parts} arrived={arrived} settings={settings} />
      <DevicePlace device={device} rights={rights} />
      <DeviceAbout device={device} />
    </>
  );
}
