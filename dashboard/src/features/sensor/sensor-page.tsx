// A sensor: its chart is the page. Span, other sensors in the chart and zoom stand in the address; new values come live.

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { unlessGone } from '../../api/api-problem.ts';
import { api, call, type Device, type Sensor } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { deviceQuery, measuredAt } from '../../api/devices.ts';
import { keys } from '../../api/query-keys.ts';
import { noRights, type Rights, rightsQuery } from '../../api/rights.ts';
import { OpenAlarms, useOpenAlarmsAreComing } from '../../shared/alarm/open-alarms.tsx';
import { spanStep } from '../../shared/chart/span-steps.ts';
import { PointAge } from '../../shared/device/point-age.tsx';
import { useLiveDevice } from '../../shared/device/use-live-device.ts';
import { Value } from '../../shared/device/value.tsx';
import { EditableName } from '../../shared/form/editable-name.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { PageHeader } from '../../shared/page/page-header.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import { SensorActions } from './sensor-actions.tsx';
import { SensorChart } from './sensor-chart.tsx';
import { useSensorName } from './sensor-name.ts';
import classes from './sensor-page.module.css';
import type { SensorSearch } from './sensor-search.ts';

const route = getRouteApi('/devices/$device/sensors/$sensor');

export function SensorPage() {
  const path = route.useParams();
  const { data, error, refetch } = useQuery(deviceQuery(path.device));
  const device = unlessGone(data, error);
  const { data: rights = noRights, isPending } = useQuery(rightsQuery(path.device));
  const sensor = device?.sensors.find(({ id }) => id === path.sensor);
  if (error !== null && device === undefined) {
    return (
      <>
        <PageHeader title={path.sensor} />
        <ProblemNotice error={error} retry={() => void refetch()} />
      </>
    );
  }
  if (device !== undefined && sensor === undefined) return <ByFormerId device={device.id} sensor={path.sensor} />;
  if (device === undefined || sensor === undefined) return <PageHeader title={path.sensor} subtitle={path.device} />;
  // Another sensor is another page: nothing typed or zoomed is taken over.
  return (
    <Page key={`${device.id}/${sensor.id}`} device={device} sensor={sensor} rights={isPending ? undefined : rights} />
  );
}

/** An id that the sensor had before leads to its page. */
function ByFormerId({ device, sensor }: { readonly device: string; readonly sensor: string }) {
  const { sensor: words } = usePageStrings();
  const search = route.useSearch();
  const navigate = useNavigate();
  const { data, isPending } = useQuery({
    queryKey: keys.sensor(device, sensor),
    queryFn: () => call(api.GET('/api/v2/devices/{device}/sensors/{sensor}', { params: { path: { device, sensor } } })),
    retry: false,
    staleTime: 0,
  });
  const present = data?.id;
  useEffect(() => {
    if (present !== undefined && present !== sensor)
      void navigate({
        to: '/devices/$device/sensors/$sensor',
        params: { device, sensor: present },
        search,
        replace: true,
      });
  }, [present, sensor, device, search, navigate]);
  if (isPending || present !== undefined) return <PageHeader title={sensor} subtitle={device} />;
  return <EmptyState isPage title={words.unknown} />;
}

interface PageProps {
  readonly device: Device;
  readonly sensor: Sensor;
  /** Undefined until they are known. */
  readonly rights: Rights | undefined;
}

function Page({ device, sensor, rights }: PageProps) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const rename = useSensorName(device.id, sensor);
  useLiveDevice(device.id);
  const areAlarmsComing = useOpenAlarmsAreComing(device.id);
  const last = currentOf(sensor);
  const title = sensor.name || sensor.id;
  const change = (changed: SensorSearch) =>
    void navigate({
      to: '/devices/$device/sensors/$sensor',
      params: { device: device.id, sensor: sensor.id },
      search: { ...search, ...changed },
      resetScroll: false,
      ...spanStep(changed),
    });
  const lastMs = useMemo(() => (last === undefined ? undefined : measuredAt(last)), [last]);
  // What may be pressed is known before anything can be, so that nothing moves away from under a finger.
  if (rights === undefined || areAlarmsComing) return <PageHeader title={title} subtitle={device.id} />;
  return (
    <>
      <PageHeader
        title={title}
        heading={<EditableName name={sensor.name ?? ''} id={sensor.id} mayEdit={rights.mayUpdate} onSave={rename} />}
        subtitle={
          <span className={classes.about}>
            <Link to="/devices/$device" params={{ device: device.id }} className={classes.device}>
              {device.name || device.id}
            </Link>
            {title !== sensor.id && <span>{sensor.id}</span>}
            {![title, sensor.id, undefined].includes(sensor.quantity_kind) && <span>{sensor.quantity_kind}</span>}
          </span>
        }
        actions={
          <SensorActions
            device={device}
            sensor={sensor}
            rights={rights}
            lastMs={lastMs}
            onEdit={() => change({ edit: true })}
          />
        }
      />
      <OpenAlarms device={device.id} sensor={sensor.id} />
      <div className={classes.now}>
        <span key={last?.date_received} className="d-fade-in">
          <Value value={last?.value} unit={sensor.unit} size="page" calib={sensor.calib} />
        </span>
        {last !== undefined && <PointAge point={last} />}
      </div>
      <SensorChart
        {...{ device, sensor, lastMs, search }}
        mayEdit={rights.mayUpdate && rights.mayReadData}
        onChange={change}
      />
    </>
  );
}
