// Which other sensors are in the chart: those of this device at once, those of others when their name, or that of their
// device, is typed.
import { MultiSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, type Device } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { usePageStrings } from '../../strings/strings.ts';

export interface SeriesPickerProps {
  readonly device: Device;
  readonly sensor: string;
  readonly chosen: readonly { readonly place: string; readonly label: string }[];
  readonly onChange: (places: string[]) => void;
}

export function SeriesPicker({ device, sensor, chosen, onChange }: SeriesPickerProps) {
  const { sensor: words } = usePageStrings();
  const [typed, setTyped] = useState('');
  const [asked] = useDebouncedValue(typed.trim(), limits.searchPauseMs);
  const { data: found = [] } = useQuery(soughtQuery(asked));
  const elsewhere = asked === '' ? [] : found.filter(({ id }) => id !== device.id);
  const options = new Map(chosen.map(({ place, label }) => [place, label]));
  for (const { id, name } of device.sensors) if (id !== sensor) options.set(`${device.id}/${id}`, name || id);
  for (const other of elsewhere) {
    for (const { id, name } of other.sensors) {
      if (says(`${other.name ?? ''} ${other.id} ${name ?? ''} ${id}`, asked)) {
        options.set(`${other.id}/${id}`, `${other.name || other.id} · ${name || id}`);
      }
    }
  }
  return (
    <MultiSelect
      aria-label={words.compare}
      placeholder={chosen.length === 0 ? words.compare : ''}
      size="sm"
      flex="1 1 160px"
      maw={420}
      searchable
      filter={({ options: all, search }) => all.filter((one) => 'value' in one && says(wordsOf(one), search))}
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

function wordsOf({ label, value }: { readonly label: string; readonly value: string }): string {
  return `${label} ${value}`;
}

/** Whether each word that was typed is in a text. */
function says(text: string, typed: string): boolean {
  const words = typed.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

/** Devices by their own name, by that of a sensor, and where there are two words, by one of each: "field soil". */
function soughtQuery(asked: string) {
  const [first = '', ...rest] = asked.split(/\s+/);
  const last = rest.join(' ');
  const queries = [
    { search: asked },
    { sensor_search: asked },
    ...(last === ''
      ? []
      : [
          { search: first, sensor_search: last },
          { search: last, sensor_search: first },
        ]),
  ];
  return queryOptions({
    queryKey: keys.deviceList({ asked, of: 'series' }),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const answers = await Promise.all(
        queries.map((query) =>
          call(api.GET('/api/v2/devices', { params: { query: { ...query, limit: limits.searchHitsMax, offset: 0 } } })),
        ),
      );
      return [...new Map(answers.flat().map((device) => [device.id, device])).values()];
    },
  });
}
