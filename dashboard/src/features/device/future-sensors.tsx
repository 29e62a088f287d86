// The sensors of a device that have datapoints dated in the future, each a way to its page, which shows them.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Device } from '../../api/client.ts';
import { futureQuery } from '../../api/future.ts';
import { limits } from '../../limits.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { comma } from '../../strings/listed.ts';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './future-sensors.module.css';

export function FutureSensors({ device }: { readonly device: Device }) {
  const { device: words, shared } = usePageStrings();
  const { data: all = [] } = useQuery(futureQuery(device));
  if (all.length === 0) return null;
  const shown = all.slice(0, limits.futureShownMax);
  return (
    <p className={classes.future}>
      <span className={classes.sign}>
        <Icon name="warning" size={16} />
      </span>{' '}
      {words.future}{' '}
      {shown.map(({ sensor_id: id, count }, index) => (
        <span key={id}>
          {index > 0 && comma()}
          <Link to="/devices/$device/sensors/$sensor" params={{ device: device.id, sensor: id }}>
            {words.futureOf(device.sensors.find((sensor) => sensor.id === id)?.name || id, count)}
          </Link>
        </span>
      ))}
      {all.length > shown.length && ` ${shared.more(all.length - shown.length)}`}
    </p>
  );
}
