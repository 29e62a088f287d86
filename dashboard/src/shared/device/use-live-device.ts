// Keeps a device as it is shown up to date live: each datapoint and setting is put into the record at once; charts are
// read again, some seconds apart.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Device } from '../../api/client.ts';
import { withPoint } from '../../api/current-value.ts';
import { deviceQuery, timeOfPoint } from '../../api/devices.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { type LiveDatapoint, type LiveSetting, useLive } from '../../api/use-live.ts';
import { limits } from '../../limits.ts';

interface Listeners {
  readonly onArrival?: (point: LiveDatapoint) => void;
  readonly onSetting?: (setting: LiveSetting) => void;
}

/** True while the stream stands. */
export function useLiveDevice(device: string, { onArrival, onSetting }: Listeners = {}): boolean {
  const queries = useQueryClient();
  const { queryKey } = deviceQuery(device);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const readCharts = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void queries.invalidateQueries({ queryKey: [...keys.device(device), 'values'] });
    }, limits.liveReadMs);
  };
  const onDatapoint = (point: LiveDatapoint) => {
    const known = queries.getQueryData(queryKey);
    // A sensor that is new here is not known without asking.
    if (known?.sensors.some(({ id }) => id === point.sensor_id) !== true) {
      void queries.invalidateQueries({ queryKey });
    }
    queries.setQueryData(queryKey, (record) => (record === undefined ? record : withDatapoint(record, point)));
    if (timeOfPoint(point) - serverNow() > limits.futureMsMin) {
      void queries.invalidateQueries({ queryKey: [...keys.device(device), 'future'] });
    }
    readCharts();
    onArrival?.(point);
  };
  const onActuator = (setting: LiveSetting) => {
    queries.setQueryData(queryKey, (record) => (record === undefined ? record : withSetting(record, setting)));
    void queries.invalidateQueries({ queryKey: keys.settings(device, setting.actuator_id) });
    onSetting?.(setting);
  };
  const onGap = () => void queries.invalidateQueries({ queryKey: keys.device(device) });
  return useLive(device, { onDatapoint, onActuator, onGap });
}

function withDatapoint(device: Device, { sensor_id: id, value, timestamp, date_received }: LiveDatapoint): Device {
  const point = { value, date_received, ...(timestamp === undefined ? {} : { timestamp }) };
  const sensors = device.sensors.map((sensor) => {
    const known = sensor.last_value;
    // The last value is the one that came last, whatever time it is dated.
    const isNewer = known === undefined || Date.parse(point.date_received) >= Date.parse(known.date_received);
    if (sensor.id !== id || !isNewer) return sensor;
    const { last_value, newest_value } = withPoint(sensor, point);
    const { newest_value: _, ...rest } = sensor;
    return { ...rest, last_value, value: point, ...(newest_value === undefined ? {} : { newest_value }) };
  });
  return { ...device, sensors };
}

function withSetting(device: Device, { actuator_id: id, value }: LiveSetting): Device {
  const actuators = device.actuators.map((actuator) => (actuator.id === id ? { ...actuator, value } : actuator));
  return { ...device, actuators };
}
