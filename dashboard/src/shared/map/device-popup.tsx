// What a marker of a device tells on a map: its name, last values with their age, and the way to its page.

import { Link } from '@tanstack/react-router';
import type { Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { Age } from '../device/age.tsx';
import { lastHeard } from '../device/device-state.ts';
import { Value } from '../device/value.tsx';
import classes from './device-popup.module.css';

export function DevicePopup({ device }: { readonly device: Device }) {
  const { shared } = useStrings();
  const { id, name, sensors } = device;
  const shown = sensors.filter(({ last_value }) => last_value !== undefined).slice(0, limits.rowValuesMax);
  return (
    <div className={classes.popup}>
      <Link to="/devices/$device" params={{ device: id }} className={classes.name}>
        {name || id}
      </Link>
      {shown.length === 0 && <p className="d-quiet">{shared.noValue}</p>}
      <dl className={classes.values}>
        {shown.map((sensor) => (
          <div key={sensor.id}>
            <dt>{sensor.name || sensor.id}</dt>
            <dd>
              <Value value={currentOf(sensor)?.value} unit={sensor.unit} calib={sensor.calib} />
            </dd>
          </div>
        ))}
      </dl>
      {shown.length > 0 && <Age at={lastHeard(sensors)} quiet />}
    </div>
  );
}
