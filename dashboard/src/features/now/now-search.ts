// What of the page "Now" stands in its address: which alarms.
import type { Alarm, AlarmsQuestion } from '../../api/alarms.ts';
import { limits } from '../../limits.ts';

const nowViews = ['open', 'snoozed', 'over'] as const;
export type NowView = (typeof nowViews)[number];

const limit = limits.alarmsShownMax;
export const questions: Readonly<Record<NowView, AlarmsQuestion>> = {
  open: { state: 'active', snoozed: false, limit },
  snoozed: { state: 'active', snoozed: true, limit },
  over: { state: 'cleared', limit },
};

export const alarmKinds: readonly Alarm['kind'][] = ['rule', 'silence', 'gateway', 'storage'];

export interface NowSearch {
  readonly view?: NowView | undefined;
  readonly kind?: Alarm['kind'] | undefined;
  /** Those that nobody has seen to, or that are assigned to who looks. */
  readonly who?: 'nobody' | 'me' | undefined;
}

export function parseNowSearch(raw: Record<string, unknown>): NowSearch {
  const { who } = raw;
  const view = nowViews.find((known) => known === raw['view']);
  return {
    view: view === 'open' ? undefined : view,
    kind: alarmKinds.find((known) => known === raw['kind']),
    who: who === 'nobody' || who === 'me' ? who : undefined,
  };
}
