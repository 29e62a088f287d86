// What has happened around a device, as far as the service tells it: the last value of each sensor, what its notifications
// said or set, messages that were dropped, keys that were used, and settings of actuators while the page is open.

import { useQuery } from '@tanstack/react-query';
import { api, call, type Device, type Schemas } from '../../../api/client.ts';
import { currentOf } from '../../../api/current-value.ts';
import { measuredAt } from '../../../api/devices.ts';
import { filterValue } from '../../../api/filter-value.ts';
import { keys } from '../../../api/query-keys.ts';
import type { Rights } from '../../../api/rights.ts';
import { useSession } from '../../../api/use-session.ts';
import { limits } from '../../../limits.ts';
import { formatValue } from '../../../shared/device/value.tsx';
import type { IconName } from '../../../shared/page/icon.tsx';
import { dropWords } from '../../../shared/service-reason.ts';
import { isolated } from '../../../strings/isolated.ts';
import { arrow, listed } from '../../../strings/listed.ts';
import { usePageLocale } from '../../../strings/strings.ts';

/** An actuator that was set while the page is open. */
export interface Setting {
  readonly actuator: string;
  readonly value: unknown;
  readonly atMs: number;
}

export interface Happening {
  readonly id: string;
  readonly atMs: number;
  readonly icon: IconName;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly isBad?: boolean;
}

export interface Activity {
  /** Newest first. */
  readonly list: readonly Happening[];
  readonly error: unknown;
  readonly retry: () => void;
}

export interface ActivityParts {
  readonly device: Device;
  readonly rights: Rights;
  readonly settings: readonly Setting[];
}

export function useActivity({ device, rights, settings }: ActivityParts): Activity {
  const { tag, strings } = usePageLocale();
  const { device: words } = strings;
  const told = useTold(device.id);
  const drops = useQuery({
    queryKey: keys.drops(device.id),
    enabled: rights.isManager,
    queryFn: () => call(api.GET('/api/v2/devices/{device}/drops', { params: { path: { device: device.id } } })),
  });
  const nameOf = (id: string) => device.actuators.find((one) => one.id === id)?.name || id;
  const list: Happening[] = [
    ...device.sensors.flatMap((sensor) => {
      const { id, name, unit = '' } = sensor;
      const last = currentOf(sensor);
      if (last === undefined) return [];
      const title = words.hadValue(name || id, `${formatValue(last.value, tag)} ${unit}`.trim());
      return [{ id: `value ${id}`, atMs: measuredAt(last), icon: 'sensor' as const, title }];
    }),
    ...settings.map(({ actuator, value, atMs }) => ({
      ...{ id: `setting ${actuator} ${atMs}`, atMs, icon: 'tune' as const },
      title: words.wasSet(
        nameOf(actuator),
        value === true ? words.on : value === false ? words.off : formatValue(value, tag),
      ),
    })),
    ...(drops.data ?? []).map(({ timestamp, topic, username, reason }, index) => ({
      ...{ id: `drop ${index}`, atMs: Date.parse(timestamp), icon: 'warning' as const, isBad: true },
      ...{ title: words.wasDropped(dropWords(reason, strings)), detail: `${topic} · ${username}` },
    })),
    ...told.firings.map((firing) => ({ ...firing, title: firing.title || words.unnamedRule })),
    ...told.keys.map(({ id, name, atMs }) => ({
      ...{ id: `key ${id}`, atMs, icon: 'key' as const, title: words.keyWasUsed(name) },
    })),
    { id: 'created', atMs: Date.parse(device.date_created), icon: 'plus', title: words.wasCreated },
  ];
  const retry = () => void Promise.all([drops.refetch(), told.refetch()]);
  const ordered = list.toSorted((a, b) => b.atMs - a.atMs).slice(0, limits.activityRowsMax);
  return { list: ordered, error: drops.error ?? told.error, retry };
}

/** What one's own notifications on this device did, and when one's own keys for it were used. */
function useTold(device: string) {
  const isUser = useSession().status === 'user';
  const query = { q: `condition.devices==${filterValue(device)}`, limit: limits.activityRulesMax, offset: 0 };
  const rules = useQuery({
    queryKey: keys.notificationList(query),
    enabled: isUser,
    queryFn: () => call(api.GET('/api/v2/notifications', { params: { query } })),
  });
  const ids = rules.data?.map(({ id }) => id) ?? [];
  const ofThem = { q: `notification==${ids.join(',')}`, limit: limits.activityRowsMax, offset: 0 };
  const messages = useQuery({
    queryKey: keys.messages(ofThem),
    enabled: ids.length > 0,
    queryFn: () => call(api.GET('/api/v2/socials', { params: { query: ofThem } })),
  });
  const own = useQuery({
    queryKey: keys.apiKeys,
    enabled: isUser,
    queryFn: () => call(api.GET('/api/v2/auth/keys')),
  });
  return {
    firings: firingsOf(rules.data ?? [], messages.data ?? []),
    keys: (own.data ?? [])
      .filter(({ devices, last_used: used }) => used !== undefined && devices?.includes(device) === true)
      .map(({ id, name, last_used: used = '' }) => ({ id, name, atMs: Date.parse(used) })),
    error: rules.error ?? messages.error ?? own.error,
    refetch: () => Promise.all([rules.refetch(), messages.refetch(), own.refetch()]),
  };
}

/** Messages that came of one firing as one; what sets an actuator has none, so its last firing stands for it. */
function firingsOf(
  rules: readonly Schemas['Notification'][],
  messages: readonly Schemas['SocialMessage'][],
): readonly Happening[] {
  const titles = new Map(rules.map(({ id, description = '' }) => [id, description]));
  const byFiring = Map.groupBy(messages, ({ notification, timestamp }) => `${notification} ${timestamp}`);
  const said = [...byFiring].map(([id, group]): Happening => {
    const [first] = group as [Schemas['SocialMessage']];
    const people = listed([...new Set(group.map(({ username }) => username))]);
    return {
      ...{ id, atMs: Date.parse(first.timestamp), icon: 'bell', title: titles.get(first.notification ?? '') ?? '' },
      detail: `${isolated(first.message)} ${arrow()} ${people}`,
      isBad: group.some(({ status }) => status === 'failed' || status === 'undelivered'),
    };
  });
  const heard = new Set(messages.map(({ notification }) => notification));
  const set = rules
    .filter(({ id, last_notification: last }) => last !== undefined && !heard.has(id))
    .map(({ id, description = '', last_notification: last = '' }): Happening => {
      return { id: `rule ${id}`, atMs: Date.parse(last), icon: 'bell', title: description };
    });
  return [...said, ...set];
}
