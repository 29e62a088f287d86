// What of the list of devices stands in its address: what is searched for, filters, order, list or map.

export const deviceSorts = ['name', 'created', 'heard', 'silent'] as const;
export type DeviceSort = (typeof deviceSorts)[number];

export interface DevicesSearch {
  readonly find?: string | undefined;
  readonly owner?: string | undefined;
  readonly shared?: true | undefined;
  readonly visibility?: 'public' | 'private' | undefined;
  readonly domain?: string | undefined;
  readonly gateway?: string | undefined;
  readonly silent?: true | undefined;
  readonly sort?: DeviceSort | undefined;
  readonly view?: 'map' | undefined;
}

/** What is not as it should be is undefined, not left out: the router would leave what stands in the address. */
export function parseDevicesSearch(raw: Record<string, unknown>): DevicesSearch {
  const { visibility } = raw;
  return {
    find: textOf(raw['find']),
    owner: textOf(raw['owner']),
    shared: raw['shared'] === true ? true : undefined,
    visibility: visibility === 'public' || visibility === 'private' ? visibility : undefined,
    domain: textOf(raw['domain']),
    gateway: textOf(raw['gateway']),
    silent: raw['silent'] === true ? true : undefined,
    sort: deviceSorts.find((known) => known === raw['sort']),
    view: raw['view'] === 'map' ? 'map' : undefined,
  };
}

/** A text that looks like a number comes as one. */
function textOf(raw: unknown): string | undefined {
  const text = typeof raw === 'string' || typeof raw === 'number' ? String(raw) : '';
  return text === '' ? undefined : text;
}
