// The id of a device, completed by what the server finds by id and name.
import { Autocomplete, type AutocompleteProps, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';

export interface DeviceInputProps extends Omit<AutocompleteProps, 'data' | 'value' | 'onChange'> {
  readonly value: string;
  readonly onChange: (device: string) => void;
}

export function DeviceInput({ value, onChange, ...input }: DeviceInputProps) {
  const [asked] = useDebouncedValue(value.trim(), limits.searchPauseMs);
  const query = {
    ...(asked === '' ? {} : { search: asked }),
    order: 'natural' as const,
    limit: limits.completionsMax,
    offset: 0,
  };
  const { data = [] } = useQuery({
    queryKey: keys.deviceList({ complete: query }),
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query } })),
    placeholderData: keepPreviousData,
  });
  const names = new Map(data.map(({ id, name }) => [id, name]));
  return (
    <Autocomplete
      {...input}
      value={value}
      onChange={onChange}
      data={[...names.keys()]}
      // The server has found them, by their names too.
      filter={({ options }) => options}
      renderOption={({ option }) => (
        <span>
          {names.get(option.value) || option.value}
          <Text component="span" c="dimmed" fz="xs" ms={8}>
            {option.value}
          </Text>
        </span>
      )}
      autoComplete="off"
    />
  );
}
