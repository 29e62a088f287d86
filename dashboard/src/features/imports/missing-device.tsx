// Offers to create the device that a file is for, where there is none yet.

import { Button, Group, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function MissingDevice({ device }: { readonly device: string }) {
  const { imports } = usePageStrings();
  const queries = useQueryClient();
  const [asked] = useDebouncedValue(device, limits.searchPauseMs * 2);
  const [error, setError] = useState<unknown>();
  const query = { q: `id==${filterValue(asked)}`, limit: 1, offset: 0 };
  const { data } = useQuery({
    queryKey: keys.deviceList({ one: asked }),
    enabled: asked !== '',
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query } })),
  });
  if (asked === '' || asked !== device || data === undefined || data.length > 0) return null;
  const create = async () => {
    setError(undefined);
    try {
      await call(api.POST('/api/v2/devices', { body: { id: device } as never }));
      await Promise.all([keys.devices, keys.imports].map((queryKey) => queries.invalidateQueries({ queryKey })));
    } catch (fault) {
      setError(fault);
    }
  };
  return (
    <Group gap="xs" mt={6} role="status">
      <Text fz="sm">{imports.deviceMissing(device)}</Text>
      <Button size="compact-sm" variant="light" onClick={() => void create()}>
        {imports.deviceCreate(device)}
      </Button>
      {error !== undefined && <ProblemNotice error={error} />}
    </Group>
  );
}
