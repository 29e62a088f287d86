// Devices on a map: a marker for each that has a position, coloured by its state, with the last values at a press. By which
// interval a device is usually heard the service says with its position.
import { useQuery } from '@tanstack/react-query';
import { useSilentSince } from '../../api/alarms.ts';
import type { Device } from '../../api/client.ts';
import { deviceQuery } from '../../api/devices.ts';
import { useStrings } from '../../strings/strings.ts';
import { lastHeard, slowestInterval } from '../device/device-state.ts';
import { freshnessOf } from '../device/freshness.ts';
import { freshnessWords } from '../device/state-dot.tsx';
import { useNow } from '../page/use-now.ts';
import { DevicePopup } from './device-popup.tsx';
import type { MapMarker } from './map-marker.ts';
import { MapView } from './map-view.tsx';
import type { DevicePosition } from './placed-devices.ts';

interface DeviceMapProps {
  readonly devices: readonly DevicePosition[];
  readonly height: number | string;
}

export function DeviceMap({ devices, height }: DeviceMapProps) {
  return <MarkersMap markers={useDeviceMarkers(devices)} height={height} />;
}

interface MarkersMapProps {
  readonly markers: readonly MapMarker[];
  readonly height: number | string;
  /** Where given, the view moves when this changes, in place of when other devices are shown. */
  readonly fitBy?: string;
}

export function MarkersMap(props: MarkersMapProps) {
  return <MapView {...props} renderPopup={(id) => <Popup key={id} device={id} />} />;
}

/** With the state of each. */
export function useDeviceMarkers(devices: readonly DevicePosition[]): readonly MapMarker[] {
  const { shared } = useStrings();
  const words = freshnessWords(shared);
  const nowMs = useNow();
  const silentSince = useSilentSince();
  return devices.map(({ id, name, latitude, longitude, heard, usual_interval: usualS }) => {
    const heardMs = heard === undefined ? undefined : Date.parse(heard);
    // Silent as in the list, where an alarm says so of the sensor that was heard last; alarms name whole seconds.
    const isSilent = heardMs !== undefined && (silentSince.get(id) ?? 0) > heardMs - 1_000;
    const intervalMs = usualS === undefined ? undefined : usualS * 1000;
    const state = isSilent ? 'silent' : freshnessOf(heardMs, { nowMs, intervalMs });
    return { id, name: name || id, label: shared.labelled(name || id, words[state]), latitude, longitude, state };
  });
}

/** Its values are read when it is pressed. */
function Popup({ device }: { readonly device: string }) {
  const { shared } = useStrings();
  const { data } = useQuery(deviceQuery(device));
  return data === undefined ? <p className="d-quiet">{shared.loading}</p> : <DevicePopup device={data} />;
}

/** As the map has them, of devices that are at hand. */
export function positionsOf(devices: readonly Device[]): readonly DevicePosition[] {
  return devices.flatMap(({ id, name, location, sensors }) => {
    const { latitude, longitude } = location ?? {};
    const heard = lastHeard(sensors);
    const usual = slowestInterval(sensors);
    if (latitude === undefined || longitude === undefined) return [];
    return [
      {
        ...{ id, latitude, longitude },
        ...(name === undefined ? {} : { name }),
        ...(heard === undefined ? {} : { heard }),
        ...(usual === undefined ? {} : { usual_interval: usual }),
      },
    ];
  });
}
