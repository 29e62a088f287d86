// What stands behind the `?` of the list of MQTT clients.

export interface ClientsSearch {
  readonly find?: string | undefined;
  readonly state?: 'connected' | 'kept' | undefined;
}

export function parseClientsSearch({ find, state }: Record<string, unknown>): ClientsSearch {
  return {
    find: find === undefined || find === '' ? undefined : String(find),
    state: state === 'connected' || state === 'kept' ? state : undefined,
  };
}
