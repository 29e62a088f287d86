// Whether messages by a channel can be sent at all: it needs a provider, which an operator sets up, and an address of who is to
// get them, which each has in their own profile. Of others than oneself it is not known.
import { useQuery } from '@tanstack/react-query';
import { factsQuery } from '../../api/facts.ts';
import { meQuery } from '../../api/me.ts';
import { useSession } from '../../api/use-session.ts';
import { actionOf, type Rule } from './editor/draft.ts';

export type Obstacle = 'provider' | 'address';

export interface Reach {
  /** What stands in the way of messages by this channel to these users; undefined where nothing is known to. */
  readonly obstacleOf: (channel: string, usernames: readonly string[]) => Obstacle | undefined;
}

export function useReach(): Reach {
  const state = useSession();
  const isUser = state.status === 'user';
  const { data: facts } = useQuery(factsQuery);
  const { data: me } = useQuery({ ...meQuery, enabled: isUser });
  return {
    obstacleOf: (channel, usernames) => {
      if (channel === 'none') return undefined;
      if (facts !== undefined && !facts.channels.includes(channel)) return 'provider';
      const isForMe = isUser && usernames.length > 0 && usernames.every((name) => name === state.username);
      if (!isForMe || me === undefined) return undefined;
      const addresses: Readonly<Record<string, unknown>> = { ...me, sms: me.phone, voice: me.phone };
      return String(addresses[channel] ?? '') === '' ? 'address' : undefined;
    },
  };
}

/** What keeps every message of the rule from being sent, and by which channels; undefined where one may arrive. */
export function obstacleOfRule(
  rule: Rule,
  { obstacleOf }: Reach,
): { readonly obstacle: Obstacle; readonly channels: readonly string[] } | undefined {
  const { channels = [], usernames = [] } = actionOf(rule).message ?? {};
  const found = channels.map((channel) => obstacleOf(channel, usernames));
  const [first] = found;
  if (first === undefined || found.some((one) => one === undefined)) return undefined;
  return { obstacle: first, channels: channels.filter((_, at) => found[at] === first) };
}

export type Outcome = 'sent' | 'recorded' | 'set' | 'partly' | 'failed' | 'waiting';

/** What became of what the rule did when it fired last; undefined where it never fired. */
export function outcomeOf(rule: Rule): Outcome | undefined {
  const { last_notification: fired, last_success: success, last_failure: failure } = rule;
  if (fired === undefined) return undefined;
  const isSince = (at: string | undefined) => at !== undefined && Date.parse(at) >= Date.parse(fired);
  const { message, actuation } = actionOf(rule);
  const channels = message?.channels ?? [];
  // Where it is recorded as well, that succeeds always, and tells nothing of the others.
  if (isSince(failure)) return isSince(success) && !channels.includes('none') ? 'partly' : 'failed';
  if (!isSince(success)) return 'waiting';
  if (actuation !== undefined) return 'set';
  return channels.every((channel) => channel === 'none') ? 'recorded' : 'sent';
}
