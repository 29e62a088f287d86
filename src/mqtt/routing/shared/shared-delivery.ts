// What shared subscriptions know: groups, their members, and the messages that these have, one by one.
import type { Caller } from '../../../domain/callers/caller.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { Qos } from '../../protocol/packet-types.ts';
import type { LiveFilter } from '../live-filter.ts';
import type { RoutedMessage } from '../routed-message.ts';

/** A group as the tree of filters has it. */
export class SharedGroup {
  readonly key: string;
  /** Without `$share` and the group's name. */
  readonly filter: string;

  constructor(key: string, filter: string) {
    this.key = key;
    this.filter = filter;
  }
}

/** A session in a group. */
export interface Member {
  readonly group: SharedGroup;
  readonly clientId: string;
  readonly user: UserKey;
  /** The whole text of its filter. */
  readonly text: string;
  /** Whether its group is one of guests, who are members while they are connected. */
  readonly isGuest: boolean;
  /** Undefined while its client is away; then the session is kept. */
  live: LiveFilter | undefined;
}

/** Bytes that are held for a caller until they are given back (owed-bytes.ts). */
export interface Owed {
  readonly caller: Caller;
  readonly bytes: number;
}

/** A message that a member has. */
export interface SharedDelivery {
  readonly member: Member;
  readonly message: RoutedMessage;
  /** In which it has it: at most that of its filter. */
  readonly qos: Qos;
  /** The packet id under which it was sent. */
  messageId: number | undefined;
  /** The memory that it takes. */
  owed: Owed | undefined;
  /** By which it is stored for the member's session. */
  stored: StoredPacket | undefined;
  /** Whether that is under way. */
  isStoring: boolean;
  /** Who did not take the message: it does not come back to them. */
  readonly passedOver: Set<Member>;
}

/** A group that has members. */
export interface KnownGroup {
  readonly group: SharedGroup;
  /** The user; of guests, the address. */
  readonly owner: string;
  readonly user: UserKey;
  /** By client id. */
  readonly members: Map<string, Member>;
}

const prefix = '$share/';

/** The name of the group and the filter; undefined where the filter is not shared. */
export function sharedPartsOf(text: string): { readonly name: string; readonly filter: string } | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const end = text.indexOf('/', prefix.length);
  return end < 0 ? undefined : { name: text.slice(prefix.length, end), filter: text.slice(end + 1) };
}

/** Whether messages may be sent to the member now. */
export function isConnected({ live }: Member): boolean {
  return live?.client.connackSent === true && !live.client.closed;
}
