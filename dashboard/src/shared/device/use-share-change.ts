// Changing whom a device, gateway or project is shared with: from its page, and from the profile of whoever shares it.
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { problemWords } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';
import { type SharedKind, scopesOf } from './scopes.ts';

export interface Share {
  readonly username: string;
  readonly scopes: readonly string[];
}

/** What is shared. */
export interface Shared {
  readonly kind: SharedKind;
  readonly id: string;
}

/** What somebody gets at first: to see it, with the values of its devices. */
export function firstScopes(kind: SharedKind): readonly string[] {
  const onDevices = ['device:view', 'device-data:view'];
  return kind === 'device' ? onDevices : [`${kind}:view`, ...onDevices];
}

/** Gives exactly these rights, as shown at once; none ends the share, which can be undone for some seconds. */
export function useShareChange({ kind, id }: Shared): (share: Share, before: Share) => void {
  const queries = useQueryClient();
  const strings = usePageStrings();
  const show = (share: Share) => {
    queries.setQueryData(keys.sharesOf(kind, id), (known: readonly Share[] | undefined) =>
      known?.map((one) => (one.username === share.username ? share : one)).filter(({ scopes }) => scopes.length > 0),
    );
    queries.setQueryData(keys.shares('by-me', kind), (known: readonly Schemas['SharedDevice'][] | undefined) =>
      known
        ?.map((one) => (one[kind] === id && one.username === share.username ? { ...one, ...share } : one))
        .filter(({ scopes }) => scopes.length > 0),
    );
  };
  const put = async (share: Share, said?: { readonly text: string; readonly undo: () => void }) => {
    show(share);
    try {
      await sendShare({ kind, id }, share);
      if (said !== undefined) toasts.show(said);
    } catch (error) {
      toasts.show({ text: problemWords(error, strings), isBad: true });
    }
    await queries.invalidateQueries({ queryKey: keys.allShares });
  };
  return (share, before) => {
    const text = strings.device.shareRemoved(share.username);
    const isEnd = share.scopes.length === 0;
    void put(share, isEnd ? { text, undo: () => void put(before) } : undefined);
  };
}

export function sendShare({ kind, id }: Shared, { username, scopes: given }: Share): Promise<unknown> {
  const scopes = [...given];
  const with_devices = scopes.some((scope) => scopesOf(kind).ofDevices.includes(scope));
  if (kind === 'device') {
    const params = { path: { device: id, username } };
    return call(api.PUT('/api/v2/devices/{device}/shares/{username}', { params, body: { scopes } }));
  }
  const body = { scopes, with_devices };
  if (kind === 'gateway') {
    const params = { path: { gateway: id, username } };
    return call(api.PUT('/api/v2/gateways/{gateway}/shares/{username}', { params, body }));
  }
  const params = { path: { project: id, username } };
  return call(api.PUT('/api/v2/projects/{project}/shares/{username}', { params, body }));
}
