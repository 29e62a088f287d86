// What of the page "Now" stands in its address: which alarms.
const nowViews = ['open', 'snoozed', 'over'] as const;
export type NowView = (typeof nowViews)[number];

export interface NowSearch {
  readonly view?: NowView | undefined;
}

export function parseNowSearch(raw: Record<string, unknown>): NowSearch {
  const view = nowViews.find((known) => known === raw['view']);
  return { view: view === 'open' ? undefined : view };
}
