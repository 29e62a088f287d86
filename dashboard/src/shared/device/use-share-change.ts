// Changing whom a device is shared with: from its page, and from the profile of whoever shares it.
import { useQueryClient } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { useStrings } from '../../strings/strings.ts';
import { problemWords } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';

export interface Share {
  readonly username: string;
  readonly scopes: readonly string[];
}

/** What somebody gets at first. */
export const firstScopes: readonly string[] = ['device:view', 'device-data:view'];

/** Gives exactly these rights, as shown at once; none ends the share, which can be undone for some seconds. */
export function useShareChange(device: string): (share: Share, before: Share) => void {
  const queries = useQueryClient();
  const strings = useStrings();
  const show = (share: Share) => {
    queries.setQueryData(keys.deviceShares(device), (known: readonly Share[] | undefined) =>
      known?.map((one) => (one.username === share.username ? share : one)).filter(({ scopes }) => scopes.length > 0),
    );
    queries.setQueryData(keys.shares('by-me'), (known: readonly Schemas['SharedDevice'][] | undefined) =>
      known
        ?.map((one) => (one.device === device && one.username === share.username ? { ...one, ...share } : one))
        .filter(({ scopes }) => scopes.length > 0),
    );
  };
  const put = async (share: Share, said?: { readonly text: string; readonly undo: () => void }) => {
    show(share);
    try {
      await sendShare(device, share);
      if (said !== undefined) toasts.show(said);
    } catch (error) {
      toasts.show({ text: problemWords(error, strings), isBad: true });
    }
    await queries.invalidateQueries({ queryKey: keys.deviceShares(device) });
    await queries.invalidateQueries({ queryKey: keys.allShares });
  };
  return (share, before) => {
    const text = strings.device.shareRemoved(share.username);
    const isEnd = share.scopes.length === 0;
    void put(share, isEnd ? { text, undo: () => void put(before) } : undefined);
  };
}

export function sendShare(device: string, { username, scopes }: Share): Promise<unknown> {
  const params = { path: { device, username } };
  return call(api.PUT('/api/v2/devices/{device}/shares/{username}', { params, body: { scopes: [...scopes] } }));
}
