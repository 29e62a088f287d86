// A row of the list: state, name over id, last values with the course of their day, gateway, owner, when last heard.
// One link that opens the device; without a device, the place where one will be.

import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useSilentSensors } from '../../api/alarms.ts';
import type { Device, Sensor } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { dayKey, type SensorDay } from '../../api/devices.ts';
import { Sparkline } from '../../shared/chart/sparkline.tsx';
import { Age } from '../../shared/device/age.tsx';
import { deviceState, lastHeard } from '../../shared/device/device-state.ts';
import { StateDot } from '../../shared/device/state-dot.tsx';
import { Value } from '../../shared/device/value.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { useNow } from '../../shared/page/use-now.ts';
import { useStrings } from '../../strings/strings.ts';
import classes from './device-row.module.css';
import type { DeviceSort } from './devices-search.ts';

export const deviceRowHeight = 62;

interface DeviceRowProps {
  readonly device: Device | undefined;
  readonly days: ReadonlyMap<string, SensorDay>;
  /** The most last values that a row in view has: what they leave is for the names. */
  readonly columns: number;
}

export function DeviceRow({ device, days, columns }: DeviceRowProps) {
  const { shared } = useStrings();
  const nowMs = useNow();
  const silent = useSilentSensors();
  if (device === undefined) return <RowSkeleton />;
  const { id, name, owner, visibility, gateway_id: gateway, sensors } = device;
  const heard = lastHeard(sensors);
  const shown = sensors.filter(({ last_value }) => last_value !== undefined).slice(0, columns);
  return (
    <Link to="/devices/$device" params={{ device: id }} className={classes.row} data-columns={columns}>
      <StateDot state={deviceState(device, { nowMs, silent })} />
      <span className={classes.names}>
        <span className={classes.name}>
          <span className={classes.words} dir="auto" title={name || id}>
            {name || id}
          </span>
          {visibility === 'private' && (
            <span className={classes.lock} title={shared.private} role="img" aria-label={shared.private}>
              <Icon name="lock" size={13} />
            </span>
          )}
        </span>
        <span className={`${classes.quiet} d-ellipsis`} dir="auto">
          {id}
        </span>
      </span>
      <span className={classes.values}>
        {shown.map((sensor) => (
          <Reading key={sensor.id} sensor={sensor} means={days.get(dayKey(id, sensor.id))?.means ?? []} />
        ))}
        {sensors.length > shown.length && shown.length > 0 && (
          <span className={classes.more}>{shared.more(sensors.length - shown.length)}</span>
        )}
      </span>
      <span className={`${classes.side} d-ellipsis`} dir="auto">
        {gateway ?? ''}
      </span>
      <span className={`${classes.side} d-ellipsis`} dir="auto">
        {owner}
      </span>
      <span className={classes.heard}>
        <Age at={heard} quiet />
      </span>
    </Link>
  );
}

function Reading({ sensor, means }: { readonly sensor: Sensor; readonly means: readonly (number | null)[] }) {
  return (
    <span className={classes.reading}>
      <span className={`${classes.sensor} d-ellipsis`} dir="auto">
        {sensor.name || sensor.id}
      </span>
      <span className={classes.pair}>
        <Value value={currentOf(sensor)?.value} unit={sensor.unit} calib={sensor.calib} />
        <Sparkline values={means} width={72} height={22} />
      </span>
    </span>
  );
}

interface DeviceRowHeadProps {
  readonly columns: number;
  readonly sort: DeviceSort;
  readonly onSort: (sort: DeviceSort) => void;
}

/** Two of the heads put the rows in order; a second press of the last turns it round. */
export function DeviceRowHead({ columns, sort, onSort }: DeviceRowHeadProps) {
  const { devices, shared } = useStrings();
  return (
    <div className={`${classes.row} ${classes.head}`} data-columns={columns}>
      <span className={classes.dotPlace} />
      <HeadSort label={devices.device} isOn={sort === 'name'} icon="up" onClick={() => onSort('name')} />
      <span>{devices.values}</span>
      <span className={classes.side}>{devices.gateway}</span>
      <span className={classes.side}>{shared.owner}</span>
      <span className={classes.heard}>
        <HeadSort
          label={devices.lastHeard}
          isOn={sort === 'heard' || sort === 'silent'}
          icon={sort === 'silent' ? 'up' : 'down'}
          onClick={() => onSort(sort === 'heard' ? 'silent' : 'heard')}
        />
      </span>
    </div>
  );
}

interface HeadSortProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly icon: 'up' | 'down';
  readonly onClick: () => void;
}

function HeadSort({ label, isOn, icon, onClick }: HeadSortProps) {
  const { devices } = useStrings();
  return (
    <button
      type="button"
      className={classes.sort}
      aria-label={devices.sortBy(label)}
      aria-pressed={isOn}
      onClick={onClick}
    >
      {label}
      {isOn && <Icon name={icon} size={13} />}
    </button>
  );
}

function RowSkeleton() {
  return (
    <span className={classes.row} aria-hidden="true">
      <Skeleton circle height={10} width={10} />
      <span className={classes.names}>
        <Skeleton height={14} width="60%" mb={8} />
        <Skeleton height={10} width="40%" />
      </span>
      <span className={classes.values}>
        <Skeleton height={26} width={120} />
        <Skeleton height={26} width={120} />
      </span>
    </span>
  );
}
