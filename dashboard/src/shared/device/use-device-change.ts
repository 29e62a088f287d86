// Changes a device as it is shown at once, and sends it; where the server refuses, it is as before and the reason is
// said. With `undo` a note gives some seconds to take it back.
import { useQueryClient } from '@tanstack/react-query';
import type { Device } from '../../api/client.ts';
import { deviceQuery } from '../../api/devices.ts';
import { keys } from '../../api/query-keys.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { problemWords } from '../page/problem-notice.tsx';
import { toasts } from '../page/toasts.tsx';

export interface DeviceChange {
  readonly change: (device: Device) => Device;
  readonly send: () => Promise<unknown>;
  /** What is said when it is done. */
  readonly said?: string;
  readonly undo?: () => void;
}

export function useDeviceChange(device: string): (change: DeviceChange) => Promise<void> {
  const queries = useQueryClient();
  const strings = usePageStrings();
  const { queryKey } = deviceQuery(device);
  return async ({ change, send, said, undo }) => {
    await queries.cancelQueries({ queryKey });
    const before = queries.getQueryData(queryKey);
    queries.setQueryData(queryKey, (known) => (known === undefined ? known : change(known)));
    try {
      await send();
      if (said !== undefined) toasts.show({ text: said, ...(undo === undefined ? {} : { undo }) });
    } catch (error) {
      queries.setQueryData(queryKey, before);
      toasts.show({ text: problemWords(error, strings), isBad: true });
    }
    await Promise.all([
      queries.invalidateQueries({ queryKey }),
      queries.invalidateQueries({ queryKey: [...keys.device(device), 'settings'] }),
      queries.invalidateQueries({ queryKey: keys.rights(device) }),
      queries.invalidateQueries({ queryKey: keys.devices }),
    ]);
  };
}
