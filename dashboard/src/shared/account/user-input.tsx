// A username, completed by those there are.
import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';

export interface UserInputProps extends Omit<AutocompleteProps, 'data' | 'value' | 'onChange'> {
  readonly value: string;
  readonly onChange: (username: string) => void;
  /** Whom not to offer. */
  readonly except?: readonly string[];
}

export function UserInput({ value, onChange, except = [], ...input }: UserInputProps) {
  const [asked] = useDebouncedValue(value.trim(), limits.searchPauseMs);
  const query = { username: asked, limit: limits.completionsMax, offset: 0 };
  const { data = [] } = useQuery({
    queryKey: keys.userList(query),
    queryFn: () => call(api.GET('/api/v2/users', { params: { query } })),
    placeholderData: keepPreviousData,
  });
  const names = data.map(({ username }) => username).filter((name) => !['guest', ...except].includes(name));
  return <Autocomplete {...input} value={value} onChange={onChange} data={names} autoComplete="off" />;
}
