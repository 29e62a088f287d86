// Renames a sensor as it is shown at once, with a way back.
import { api, call, type Sensor } from '../../api/client.ts';
import { useDeviceChange } from '../../shared/device/use-device-change.ts';
import { useStrings } from '../../strings/strings.ts';

export function useSensorName(device: string, { id, name: before = '' }: Sensor): (name: string) => void {
  const { shared } = useStrings();
  const change = useDeviceChange(device);
  const rename = (name: string, undo?: () => void) => {
    const params = { path: { device, sensor: id } };
    void change({
      change: (known) => ({
        ...known,
        sensors: known.sensors.map((sensor) => (sensor.id === id ? { ...sensor, name } : sensor)),
      }),
      send: () => call(api.PUT('/api/v2/devices/{device}/sensors/{sensor}/name', { params, body: name })),
      said: shared.saved,
      ...(undo === undefined ? {} : { undo }),
    });
  };
  return (name) => rename(name, () => rename(before));
}
