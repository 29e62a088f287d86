import type { Strings } from '../catalogue.ts';
import { countedInSwahili } from '../plural.ts';

export const places: Strings['places'] = {
  title: 'Ramani',
  empty: 'Bado hakuna kifaa chenye mahali.',
  emptyWords: 'Weka mahali kwenye ukurasa wa kifaa, au acha kitume mahali pake.',
  toDevices: 'Kwa vifaa',
  legend: 'Rangi zinasema nini',
  count: (shown, total) =>
    shown < total
      ? `${countedInSwahili(shown, 'kifaa', 'vifaa')} kati ya ${total} vyenye mahali`
      : `${countedInSwahili(shown, 'kifaa chenye mahali:', 'vifaa vyenye mahali:')}`,
  showOrHide: 'Onyesha au acha',
};
