// What the search finds: pages by their names; devices, their sensors and one's notifications as the server finds them.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { useSession } from '../api/use-session.ts';
import { limits } from '../limits.ts';
import type { IconName } from '../shared/page/icon.tsx';
import { useStrings } from '../strings/strings.ts';
import { mainPages, personalPages } from './pages.ts';

export interface Hit {
  readonly kind: 'page' | 'device' | 'sensor' | 'rule';
  readonly href: string;
  readonly title: string;
  readonly detail: string;
  readonly icon: IconName;
}

export function useHits(text: string, asked: string): { readonly hits: readonly Hit[]; readonly isSearching: boolean } {
  const { shell } = useStrings();
  const state = useSession();
  const pages: Hit[] = [...mainPages(state), ...personalPages(state)]
    .filter(({ label }) => includes(shell[label], text))
    .map(({ to, label, icon }) => ({ kind: 'page', href: to, title: shell[label], detail: shell.searchPages, icon }));
  const records = useQuery({
    queryKey: [...keys.devices, 'search', asked],
    queryFn: () => findRecords(asked),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
  });
  const hits = text === '' ? pages : [...(records.data ?? []), ...pages];
  return { hits, isSearching: records.isFetching || text !== asked };
}

async function findRecords(text: string): Promise<Hit[]> {
  return (await Promise.all([findDevices(text), findSensors(text), findRules(text)])).flat();
}

async function findDevices(search: string): Promise<Hit[]> {
  const query = { search, limit: limits.searchHitsMax, offset: 0 };
  const devices = await call(api.GET('/api/v2/devices', { params: { query } }));
  return devices.map(({ id, name }) => {
    return { kind: 'device', href: deviceHref(id), title: name || id, detail: id, icon: 'devices' };
  });
}

async function findSensors(text: string): Promise<Hit[]> {
  const query = { sensor_search: text, limit: limits.searchHitsMax, offset: 0 };
  const devices = await call(api.GET('/api/v2/devices', { params: { query } }));
  const found = devices.flatMap((device) =>
    device.sensors
      .filter(({ id, name }) => includes(id, text) || includes(name ?? '', text))
      .map(({ id, name }): Hit => {
        const href = `${deviceHref(device.id)}/sensors/${encodeURIComponent(id)}`;
        return { kind: 'sensor', href, title: name || id, detail: device.name || device.id, icon: 'sensor' };
      }),
  );
  return found.slice(0, limits.searchHitsMax);
}

async function findRules(text: string): Promise<Hit[]> {
  const rules = await call(api.GET('/api/v2/notifications', { params: { query: { limit: 1000, offset: 0 } } }));
  return rules
    .filter(({ description }) => includes(description ?? '', text))
    .slice(0, limits.searchHitsMax)
    .map(({ id, description, condition }) => ({
      kind: 'rule',
      href: `/notifications/${encodeURIComponent(id)}`,
      title: description || id,
      detail: condition.expression ?? '',
      icon: 'bell',
    }));
}

function deviceHref(id: string): string {
  return `/devices/${encodeURIComponent(id)}`;
}

function includes(whole: string, part: string): boolean {
  return whole.toLowerCase().includes(part.toLowerCase());
}
