import { counted } from '../plural.ts';

export const places = {
  title: 'Map',
  empty: 'No device has a position yet.',
  emptyWords: 'Set one on the page of a device, or let it push its location.',
  toDevices: 'To the devices',
  legend: 'What the colours say',
  count: (shown: number, total: number) =>
    shown < total
      ? `${counted(shown, 'device', 'devices')} of ${total} with a position`
      : `${counted(shown, 'device', 'devices')} with a position`,
  showOrHide: 'Show or leave out',
};
