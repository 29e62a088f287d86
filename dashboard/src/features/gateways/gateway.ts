// A gateway as the screens of gateways share it.

import { useQuery } from '@tanstack/react-query';
import { alarmsQuery } from '../../api/alarms.ts';
import { api, callPage } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import type { components } from '../../api/schema.generated.ts';
import { useSession } from '../../api/use-session.ts';
import { limits } from '../../limits.ts';

export type Gateway = components['schemas']['Gateway'];

/** Under which a deleted one is left out until it is gone. */
export function gatewayKey(id: string): string {
  return `gateway/${id}`;
}

/** Its own open alarm, that it is offline, if there is one. */
export function useGatewayAlarms(gateway: string) {
  const isUser = useSession().status === 'user';
  const question = { state: 'active', kind: 'gateway', gateway, limit: limits.alarmsShownMax } as const;
  return useQuery({ ...alarmsQuery(question), enabled: isUser });
}

/** The gateways that the service calls offline: their states say the same. */
export function useOfflineGateways(): ReadonlySet<string> {
  const isUser = useSession().status === 'user';
  const question = { state: 'active', kind: 'gateway', limit: limits.alarmsShownMax } as const;
  const { data } = useQuery({ ...alarmsQuery(question), enabled: isUser });
  return new Set(data?.page.flatMap(({ gateway_id: id }) => id ?? []));
}

/** Its devices, the first of them, and how many one may see; undefined until that is known. */
export function useGatewayDevices(gateway: string, limit: number, isWanted = true) {
  const query = { q: `gateway_id==${filterValue(gateway)}`, limit, offset: 0 };
  return useQuery({
    queryKey: keys.deviceList(query),
    staleTime: 30_000,
    enabled: isWanted,
    queryFn: () => callPage(api.GET('/api/v2/devices', { params: { query } })),
  });
}

export function useDeviceCount(gateway: string, isWanted: boolean | undefined): number | undefined {
  return useGatewayDevices(gateway, 1, isWanted).data?.total;
}
