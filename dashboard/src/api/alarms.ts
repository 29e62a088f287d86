// Reading alarms, as several screens do: those that are open, and how many of them nobody has seen to.
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent } from 'react';
import { limits } from '../limits.ts';
import { api, callPage, type Schemas } from './client.ts';
import { dayKey } from './devices.ts';
import { followEvents } from './event-stream.ts';
import { keys } from './query-keys.ts';
import { session } from './session.ts';
import { useSession } from './use-session.ts';

export type Alarm = Schemas['Alarm'];

export interface AlarmsQuestion {
  readonly state: 'active' | 'cleared' | 'all';
  readonly kind?: Alarm['kind'];
  readonly snoozed?: boolean;
  readonly acknowledged?: boolean;
  readonly assigned_to?: string;
  readonly gateway?: string;
  readonly limit: number;
}

export function alarmsQuery(question: AlarmsQuestion) {
  return queryOptions({
    queryKey: keys.alarmList(question),
    refetchInterval: limits.alarmsReadMs,
    queryFn: () => callPage(api.GET('/api/v2/alarms', { params: { query: { ...question, offset: 0 } } })),
  });
}

export function deviceAlarmsQuery(device: string, state: AlarmsQuestion['state']) {
  const query = { state, limit: limits.alarmsShownMax, offset: 0 };
  return queryOptions({
    queryKey: keys.deviceAlarms(device, state),
    queryFn: () => callPage(api.GET('/api/v2/devices/{device}/alarms', { params: { path: { device }, query } })),
  });
}

/** Asked at each request: who signs out is forgotten before the components are drawn as for a guest. */
const enabled = () => session.state.status === 'user';

/** How many open alarms nobody has acknowledged or snoozed; 0 for guests, who see none. */
export function useUnseenAlarms(): number {
  const isUser = useSession().status === 'user';
  const { data } = useQuery({
    ...alarmsQuery({ state: 'active', snoozed: false, acknowledged: false, limit: 1 }),
    enabled,
  });
  return isUser ? (data?.total ?? 0) : 0;
}

/** Reads alarms anew when some have changed, while the component is there. */
export function useLiveAlarms(): void {
  const isUser = useSession().status === 'user';
  const queries = useQueryClient();
  const onChange = useEffectEvent(() => void queries.invalidateQueries({ queryKey: keys.alarms }));
  useEffect(() => {
    if (!isUser) return;
    const stop = new AbortController();
    void followEvents(new URL('/api/v2/alarms/live', window.location.origin).href, {
      signal: stop.signal,
      onState: () => undefined,
      onEvent: ({ event }) => {
        if (event === 'alarm') onChange();
      },
    });
    return () => stop.abort();
  }, [isUser]);
}

function useRuleAlarms() {
  useSession();
  const question = { state: 'active', kind: 'rule', limit: limits.alarmsShownMax } as const;
  return useQuery({ ...alarmsQuery(question), enabled });
}

/** Whether that is still asked for. */
export function useHoldingIsComing(): boolean {
  const isUser = useSession().status === 'user';
  return !useRuleAlarms().isFetched && isUser;
}

/** The notifications whose condition holds now somewhere. */
export function useHoldingRules(): ReadonlySet<string> {
  const { data } = useRuleAlarms();
  return new Set(data?.page.flatMap(({ notification_id: id }) => (id === undefined ? [] : [id])));
}

function useSilenceAlarms(): readonly Alarm[] {
  useSession();
  const question = { state: 'active', kind: 'silence', limit: limits.alarmsShownMax } as const;
  return useQuery({ ...alarmsQuery(question), enabled }).data?.page ?? [];
}

/** The devices of which a sensor is called silent, with when the last of these was heard: what is known of devices as a whole. */
export function useSilentSince(): ReadonlyMap<string, number> {
  const alarms = useSilenceAlarms();
  const since = new Map<string, number>();
  for (const { device_id: device = '', since: heard } of alarms)
    since.set(device, Math.max(Date.parse(heard), since.get(device) ?? 0));
  return since;
}

/** The sensors that the service calls silent, by `dayKey(device, sensor)`: their dots say the same. */
export function useSilentSensors(): ReadonlySet<string> {
  return keysOf(useSilenceAlarms());
}

/** Those of one device: where very many alarms are open, the newest of all need not name it. */
export function useSilentSensorsOf(device: string): ReadonlySet<string> {
  const isUser = useSession().status === 'user';
  const { data } = useQuery({ ...deviceAlarmsQuery(device, 'active'), enabled: isUser });
  return keysOf(data?.page.filter(({ kind }) => kind === 'silence') ?? []);
}

function keysOf(alarms: readonly Alarm[]): ReadonlySet<string> {
  return new Set(alarms.map(({ device_id: device = '', sensor_id: sensor = '' }) => dayKey(device, sensor)));
}
