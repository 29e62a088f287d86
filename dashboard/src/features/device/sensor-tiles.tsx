// The sensors of a device as tiles: last value large, how it is heard, age, how it has moved, the course of its day.
// A tile opens its sensor; what comes live fades in.

import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useSilentSensorsOf } from '../../api/alarms.ts';
import type { Device, Sensor } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { dayKey, dayQuery, type SensorDay } from '../../api/devices.ts';
import type { Rights } from '../../api/rights.ts';
import { limits } from '../../limits.ts';
import { Sparkline } from '../../shared/chart/sparkline.tsx';
import { sensorState } from '../../shared/device/device-state.ts';
import { PointAge } from '../../shared/device/point-age.tsx';
import { type Calib, decimalsOf } from '../../shared/device/precision.ts';
import { SensorForm } from '../../shared/device/sensor-form.tsx';
import { StateDot } from '../../shared/device/state-dot.tsx';
import { formatNumber, isLongUnit, Value } from '../../shared/device/value.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { useNow } from '../../shared/page/use-now.ts';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { ActuatorForm } from './actuators/actuator-form.tsx';
import { AddActuator } from './actuators/actuators.tsx';
import classes from './sensor-tiles.module.css';

export function SensorTiles({ device, rights }: { readonly device: Device; readonly rights: Rights }) {
  const { device: words } = usePageStrings();
  const [isAdding, { open, close }] = useDisclosure(false);
  const [isAddingActuator, actuatorForm] = useDisclosure(false);
  const { data: days } = useQuery({
    ...dayQuery([device.id], useQueryClient()),
    enabled: device.sensors.some(({ last_value }) => last_value !== undefined),
  });
  const { sensors } = device;
  const add = (
    <Group gap="xs" justify={sensors.length === 0 ? 'center' : 'flex-start'}>
      <Button variant="default" size="xs" leftSection={<Icon name="plus" size={14} />} onClick={open}>
        {words.addSensor}
      </Button>
      {device.actuators.length === 0 && <AddActuator onClick={actuatorForm.open} />}
    </Group>
  );
  return (
    <section className={classes.section} aria-label={words.sensors}>
      {sensors.length === 0 && (
        <EmptyState title={words.noSensors} words={words.noSensorsWords}>
          {rights.mayUpdate && add}
        </EmptyState>
      )}
      {sensors.length > 0 && (
        <>
          <ul className={classes.tiles}>
            {sensors.map((sensor) => (
              <li key={sensor.id}>
                <Tile device={device.id} sensor={sensor} day={days?.get(dayKey(device.id, sensor.id))} />
              </li>
            ))}
          </ul>
          {rights.mayUpdate && <div className={classes.add}>{add}</div>}
        </>
      )}
      <SensorForm device={device.id} isOpen={isAdding} onClose={close} />
      <ActuatorForm device={device.id} actuator={undefined} isOpen={isAddingActuator} onClose={actuatorForm.close} />
    </section>
  );
}

interface TileProps {
  readonly device: string;
  readonly sensor: Sensor;
  readonly day: SensorDay | undefined;
}

function Tile({ device, sensor, day }: TileProps) {
  const nowMs = useNow();
  const silent = useSilentSensorsOf(device);
  const { id, name, unit } = sensor;
  const last = currentOf(sensor);
  return (
    <Link to="/devices/$device/sensors/$sensor" params={{ device, sensor: id }} className={classes.tile}>
      <span className={classes.head}>
        <StateDot state={sensorState(device, sensor, { nowMs, silent })} />
        <span className={classes.name} title={name || id}>
          {name || id}
        </span>
      </span>
      <span key={last?.date_received} className={`${classes.value} d-fade-in`}>
        <Value value={last?.value} unit={unit} size="tile" calib={sensor.calib} />
      </span>
      <span className={classes.foot}>
        {last === undefined ? <span /> : <PointAge point={last} />}
        <Trend value={last?.value} unit={unit} day={day} calib={sensor.calib} />
      </span>
      <Sparkline values={day?.means ?? []} width={200} height={36} />
    </Link>
  );
}

interface TrendProps {
  readonly value: unknown;
  readonly unit: string | undefined;
  readonly day: SensorDay | undefined;
  readonly calib: Calib | undefined;
}

/** How the value has moved in three hours: an arrow and by how much. */
function Trend({ value, unit, day, calib }: TrendProps) {
  const { device: words } = usePageStrings();
  const { tag } = usePageLocale();
  const back = Math.round((limits.trendMs / 86_400_000) * limits.sparklinePoints);
  const before = day?.means.at(-1 - back);
  if (typeof value !== 'number' || before === undefined || before === null) return null;
  const numbers = day?.means.filter((mean) => mean !== null) ?? [];
  const range = Math.max(...numbers) - Math.min(...numbers);
  const moved = Number((value - before).toPrecision(2));
  const isSteady = Math.abs(moved) <= range * 0.05;
  const decimals = decimalsOf(value, calib);
  // It is moved from a mean.
  const size = formatNumber(Math.abs(moved), tag, decimals === undefined ? undefined : decimals + 1);
  const by = `${size} ${unit ?? ''}`.trim();
  const hours = new Intl.NumberFormat(tag, { style: 'unit', unit: 'hour', unitDisplay: 'short' });
  const said = isSteady ? words.steady : moved > 0 ? words.rising(by) : words.falling(by);
  const icon = isSteady ? 'steady' : moved > 0 ? 'up' : 'down';
  return (
    <span className={classes.trend} title={said} role="img" aria-label={said}>
      <Icon name={icon} size={14} />
      {!isSteady && <bdi dir="ltr">{isLongUnit(unit) ? size : by}</bdi>}
      <span className={classes.within}>/ {hours.format(limits.trendMs / 3_600_000)}</span>
    </span>
  );
}
