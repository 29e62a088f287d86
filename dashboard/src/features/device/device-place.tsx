// Where a device is: a map to press for the first place and with a marker to drag from then on, and the coordinates as
// fields for those who cannot.
import { Button, Group, NumberInput, Text } from '@mantine/core';
import { useState } from 'react';
import { api, call, type Device } from '../../api/client.ts';
import { isOnEarth } from '../../api/places.ts';
import type { Rights } from '../../api/rights.ts';
import { useDeviceChange } from '../../shared/device/use-device-change.ts';
import { useForm } from '../../shared/form/use-form.ts';
import { MapView } from '../../shared/map/map-view.tsx';
import { usePageStrings } from '../../strings/strings.ts';
import classes from './section.module.css';

interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

export function DevicePlace({ device, rights }: { readonly device: Device; readonly rights: Rights }) {
  const { device: words } = usePageStrings();
  const [isSetting, setSetting] = useState(false);
  const change = useDeviceChange(device.id);
  const { latitude, longitude } = device.location ?? {};
  const isPlaced = latitude !== undefined && longitude !== undefined && isOnEarth({ latitude, longitude });
  const place = isPlaced ? { latitude, longitude } : undefined;
  const move = (to: Position, undo?: () => void) => {
    const params = { path: { device: device.id } };
    void change({
      change: (known) => ({ ...known, location: to }),
      send: () => call(api.PUT('/api/v2/devices/{device}/location', { params, body: to })),
      said: words.placeMoved,
      ...(undo === undefined ? {} : { undo }),
    });
  };
  const moveWithUndo = (to: Position) => move(to, place === undefined ? undefined : () => move(place));
  if (place === undefined && !rights.mayUpdate) return null;
  const label = device.name || device.id;
  const unplaced = isSetting ? words.placePress : words.placeNone;
  const placed = rights.mayUpdate ? words.placeDrag : '\u00a0';
  const hint = place === undefined ? unplaced : placed;
  return (
    <section className={classes.section}>
      <h2 className={classes.heading}>{words.place}</h2>
      <Text c="dimmed" fz="sm" mb="sm">
        {hint}
      </Text>
      {place === undefined && !isSetting && (
        <Button variant="default" onClick={() => setSetting(true)}>
          {words.placeSet}
        </Button>
      )}
      {place === undefined && isSetting && <MapView height={300} markers={[]} onPick={moveWithUndo} />}
      {place !== undefined && (
        <MapView
          height={300}
          markers={[{ id: device.id, ...place, label }]}
          {...(rights.mayUpdate ? { onMove: (_id: string, to: Position) => moveWithUndo(to) } : {})}
        />
      )}
      {rights.mayUpdate && (place !== undefined || isSetting) && (
        <Coordinates key={JSON.stringify(place)} place={place} onSave={moveWithUndo} />
      )}
    </section>
  );
}

interface CoordinatesProps {
  readonly place: Position | undefined;
  readonly onSave: (place: Position) => void;
}

function Coordinates({ place, onSave }: CoordinatesProps) {
  const { device: words, shared } = usePageStrings();
  const form = useForm<{ latitude: number | ''; longitude: number | '' }>({
    initial: { latitude: rounded(place?.latitude) ?? '', longitude: rounded(place?.longitude) ?? '' },
    check: ({ latitude, longitude }) => ({
      ...(latitude === '' || Math.abs(latitude) > 90 ? { latitude: words.latitudeWrong } : {}),
      ...(longitude === '' || Math.abs(longitude) > 180 ? { longitude: words.longitudeWrong } : {}),
    }),
    submit: async ({ latitude, longitude }) => onSave({ latitude: Number(latitude), longitude: Number(longitude) }),
  });
  const field = (name: 'latitude' | 'longitude') => ({
    label: words[name],
    value: form.values[name],
    onChange: (value: string | number) => form.set(name, value === '' || value === '-' ? '' : Number(value)),
    onBlur: form.field(name).onBlur,
    error: form.errorOf(name),
    hideControls: true,
    w: 160,
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Group gap="sm" align="flex-end" mt="sm">
        <NumberInput {...field('latitude')} />
        <NumberInput {...field('longitude')} />
        <Button type="submit" variant="default">
          {shared.save}
        </Button>
      </Group>
    </form>
  );
}

/** A millionth of a degree is a hand's breadth; what stands beyond is noise of calculation. */
function rounded(degrees: number | undefined): number | undefined {
  return degrees === undefined ? undefined : Number(degrees.toFixed(6));
}
