// Some devices of a gateway or a project, a row each: state, name, last values, when last heard; the row opens the device.

import { Link } from '@tanstack/react-router';
import { useSilentSensors } from '../../api/alarms.ts';
import type { Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { useStrings } from '../../strings/strings.ts';
import { useNow } from '../page/use-now.ts';
import { Age } from './age.tsx';
import classes from './device-list.module.css';
import { deviceState, lastHeard } from './device-state.ts';
import { StateDot } from './state-dot.tsx';
import { Value } from './value.tsx';

interface DeviceListProps {
  readonly label: string;
  readonly devices: readonly Device[];
}

/** Last values beside a name; more do not fit. */
const valuesMax = 2;

export function DeviceList({ label, devices }: DeviceListProps) {
  return (
    <ul className={classes.list} aria-label={label}>
      {devices.map((device) => (
        <li key={device.id}>
          <Row device={device} />
        </li>
      ))}
    </ul>
  );
}

function Row({ device }: { readonly device: Device }) {
  const { shared } = useStrings();
  const nowMs = useNow();
  const silent = useSilentSensors();
  const { id, name, sensors } = device;
  const shown = sensors.filter(({ last_value }) => last_value !== undefined).slice(0, valuesMax);
  return (
    <Link to="/devices/$device" params={{ device: id }} className={classes.row}>
      <StateDot state={deviceState(device, { nowMs, silent })} />
      <span className={classes.name} title={name || id}>
        {name || id}
      </span>
      <span className={classes.values}>
        {shown.map((sensor) => (
          <Value key={sensor.id} value={currentOf(sensor)?.value} unit={sensor.unit} calib={sensor.calib} />
        ))}
        {shown.length === 0 && <span className="d-quiet">{shared.noValue}</span>}
      </span>
      <span className={classes.heard}>{shown.length > 0 && <Age at={lastHeard(sensors)} quiet />}</span>
    </Link>
  );
}
