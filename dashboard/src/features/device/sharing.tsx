// Whom a device is shared with, and why somebody may see it.
import { SharedWith } from '../../shared/device/shared-with.tsx';
import { Explain } from './explain.tsx';

export function Sharing({ device, isManager }: { readonly device: string; readonly isManager: boolean }) {
  return (
    <>
      {isManager && <SharedWith of={{ kind: 'device', id: device }} />}
      <Explain device={device} isManager={isManager} />
    </>
  );
}
