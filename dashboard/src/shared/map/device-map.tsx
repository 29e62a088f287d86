// Devices on a map: a marker for each that has a position, coloured by its state, with the last values at a press. By which
// interval a device is usually heard the service says with its position. Where it does not know, that is asked for those alone that
// stand for themselves in view; in a group of many, and until it is known, fixed times count.
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Device } from '../../api/client.ts';
import { deviceQuery } from '../../api/devices.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { intervalOf, useDays } from '../chart/use-days.ts';
import { lastHeard } from '../device/device-state.ts';
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
  return <MarkersMap {...useDeviceMarkers(devices)} height={height} />;
}

interface DeviceMarkers {
  readonly markers: readonly MapMarker[];
  /** To be told which of them stand for themselves in view. */
  readonly onAlone: (ids: readonly string[]) => void;
}

interface MarkersMapProps extends DeviceMarkers {
  readonly height: number | string;
  /** Where given, the view moves when this changes, in place of when other devices are shown. */
  readonly fitBy?: string;
}

export function MarkersMap(props: MarkersMapProps) {
  return <MapView {...props} renderPopup={(id) => <Popup key={id} device={id} />} />;
}

/** With the state of each. */
export function useDeviceMarkers(devices: readonly DevicePosition[]): DeviceMarkers {
  const words = freshnessWords(useStrings().shared);
  const nowMs = useNow();
  const [alone, setAlone] = useState<readonly string[]>([]);
  const onAlone = useDebouncedCallback(setAlone, limits.scrollPauseMs);
  const asked = useMemo(() => {
    const shown = new Set(alone);
    const isUnknown = ({ id, heard, usual_interval }: DevicePosition) =>
      heard !== undefined && usual_interval === undefined && shown.has(id);
    return devices.filter(isUnknown).slice(0, limits.dayDevicesMax);
  }, [devices, alone]);
  const days = useDays(asked);
  const markers = devices.map(({ id, name, latitude, longitude, heard, usual_interval: usualS }): MapMarker => {
    const heardMs = heard === undefined ? undefined : Date.parse(heard);
    const intervalMs = usualS === undefined ? intervalOf(id, days) : usualS * 1000;
    const state = freshnessOf(heardMs, { nowMs, intervalMs });
    return { id, name: name || id, label: `${name || id}: ${words[state]}`, latitude, longitude, state };
  });
  return { markers, onAlone };
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
    if (latitude === undefined || longitude === undefined) return [];
    return [
      {
        ...{ id, latitude, longitude },
        ...(name === undefined ? {} : { name }),
        ...(heard === undefined ? {} : { heard }),
      },
    ];
  });
}
