// Devices on a map: a marker for each that has a position, coloured by its state, with the last values at a press.
import { useSilentSensors } from '../../api/alarms.ts';
import type { Device } from '../../api/client.ts';
import { useStrings } from '../../strings/strings.ts';
import { useDays } from '../chart/use-days.ts';
import { deviceState } from '../device/device-state.ts';
import { freshnessWords } from '../device/state-dot.tsx';
import { useNow } from '../page/use-now.ts';
import { DevicePopup } from './device-popup.tsx';
import type { MapMarker } from './map-marker.ts';
import { MapView } from './map-view.tsx';

interface DeviceMapProps {
  readonly devices: readonly Device[];
  readonly height: number | string;
}

export function DeviceMap({ devices, height }: DeviceMapProps) {
  const words = freshnessWords(useStrings().shared);
  const nowMs = useNow();
  const silent = useSilentSensors();
  const days = useDays(devices);
  const markers = devices.flatMap((device): MapMarker[] => {
    const { id, name, location } = device;
    const { latitude, longitude } = location ?? {};
    if (latitude === undefined || longitude === undefined) return [];
    const state = deviceState(device, nowMs, { days, silent });
    return [{ id, name: name || id, label: `${name || id}: ${words[state]}`, latitude, longitude, state }];
  });
  return (
    <MapView
      markers={markers}
      height={height}
      renderPopup={(id) => {
        const device = devices.find((one) => one.id === id);
        return device === undefined ? null : <DevicePopup device={device} />;
      }}
    />
  );
}
