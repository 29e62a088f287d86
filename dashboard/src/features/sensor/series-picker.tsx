// Which other sensors are in the chart: those of this device at once, those of others when their name is typed.
import { MultiSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Device } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';

export interface SeriesPickerProps {
  readonly device: Device;
  readonly sensor: string;
  readonly chosen: readonly { readonly place: string; readonly label: string }[];
  readonly onChange: (places: string[]) => void;
}

export function SeriesPicker({ device, sensor, chosen, onChange }: SeriesPickerProps) {
  const { sensor: words } = useStrings();
  const [typed, setTyped] = useState('');
  const [asked] = useDebouncedValue(typed.trim(), limits.searchPauseMs);
  const query = { sensor_search: asked, limit: limits.searchHitsMax, offset: 0 };
  const { data: found = [] } = useQuery({
    queryKey: keys.deviceList({ ...query, of: 'series' }),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query } })),
  });
  const elsewhere = asked === '' ? [] : found.filter(({ id }) => id !== device.id);
  const options = new Map(chosen.map(({ place, label }) => [place, label]));
  for (const { id, name } of device.sensors) if (id !== sensor) options.set(`${device.id}/${id}`, name || id);
  for (const other of elsewhere) {
    for (const { id, name } of other.sensors) {
      if (`${id} ${name ?? ''}`.toLowerCase().includes(asked.toLowerCase())) {
        options.set(`${other.id}/${id}`, `${other.name || other.id} · ${name || id}`);
      }
    }
  }
  return (
    <MultiSelect
      aria-label={words.compare}
      placeholder={chosen.length === 0 ? words.compare : ''}
      size="sm"
      flex="1 1 200px"
      maw={420}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': words.compareClear }}
      maxValues={limits.chartSeriesMax - 1}
      nothingFoundMessage={words.compareNothing}
      searchValue={typed}
      onSearchChange={setTyped}
      value={chosen.map(({ place }) => place)}
      onChange={onChange}
      data={[...options].map(([value, label]) => ({ value, label }))}
    />
  );
}
