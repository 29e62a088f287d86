// What a user who is to be removed owns, and what becomes of it: handed over, or deleted. For admins and for oneself.
import { Radio, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { UserInput } from './user-input.tsx';

type User = Schemas['User'];
export type Fate = 'transfer' | 'delete';

export interface OwnedThings {
  readonly devices: number;
  readonly gateways: number;
}

export function useOwnedThings({ username }: User) {
  const query = { q: `owner==${filterValue(username)}`, limit: 1, offset: 0 };
  return useQuery({
    queryKey: [...keys.users, 'owned', username],
    staleTime: 0,
    queryFn: async (): Promise<OwnedThings> => {
      const [devices, gateways] = await Promise.all([
        callPage(api.GET('/api/v2/devices', { params: { query } })),
        callPage(api.GET('/api/v2/gateways', { params: { query } })),
      ]);
      return { devices: devices.total, gateways: gateways.total };
    },
  });
}

/** Such as "3 devices and 1 gateway". */
export function wordsOfOwned({ devices, gateways }: OwnedThings, { users }: Strings): string {
  const parts = [...(devices > 0 ? [users.devices(devices)] : []), ...(gateways > 0 ? [users.gateways(gateways)] : [])];
  return parts.length === 2 ? users.and(parts[0] ?? '', parts[1] ?? '') : (parts[0] ?? '');
}

export interface FateChoiceProps {
  readonly label: string;
  readonly owner: User;
  readonly fate: Fate;
  readonly onFate: (fate: Fate) => void;
  /** Username of who gets it. */
  readonly to: string;
  readonly onTo: (to: string) => void;
  readonly error: string | undefined;
}

export function FateChoice({ label, owner, fate, onFate, to, onTo, error }: FateChoiceProps) {
  const { users } = usePageStrings();
  return (
    <>
      <Radio.Group label={label} value={fate} onChange={(value) => onFate(value as Fate)}>
        <Stack gap="xs" mt="xs">
          <Radio value="transfer" label={users.handOver} description={users.handOverMeans} />
          <Radio value="delete" label={users.deleteToo} description={users.deleteTooMeans} />
        </Stack>
      </Radio.Group>
      {fate === 'transfer' && (
        <UserInput
          required
          label={users.handOverTo}
          value={to}
          onChange={onTo}
          except={[owner.username]}
          error={error}
        />
      )}
    </>
  );
}
