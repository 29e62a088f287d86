// What the page itself has asked the service for before this script had come (index.html): on a weak link that is seconds earlier.
type Early = 'facts' | 'session';

const asked = (globalThis as { dundunEarly?: Partial<Record<Early, Promise<Response>>> }).dundunEarly ?? {};

/** The answer that is on its way, once; undefined where nothing was asked for, or somebody has taken it. */
export function takeEarly(what: Early): Promise<Response> | undefined {
  const answer = asked[what];
  delete asked[what];
  return answer;
}
