// What is said of a message that was dropped: to its sender, where that is of version 5, and in the list of clients. Used by
// publishing.ts.
import type { Refusal } from '../base/refusal.ts';
import type { ClientRefusal } from '../domain/clients/mqtt-client.ts';
import { type ReasonCode, reasonCodes } from './protocol/reason-codes.ts';

/** The message was dropped: what a client of version 5 is told. */
export interface Dropped {
  readonly reasonCode: ReasonCode;
  readonly reason: string;
}

export const ofNobody: Dropped = { reasonCode: reasonCodes.topicNameInvalid, reason: 'The topic belongs to nothing.' };
export const notRelayed: Dropped = {
  reasonCode: reasonCodes.notAuthorized,
  reason: 'Messages on this topic are not for you to send.',
};

/** For a client of version 5 (contract 8). */
export function reasonCodeOf({ code }: Refusal): ReasonCode {
  switch (code) {
    case 'forbidden':
    case 'unauthenticated':
      return reasonCodes.notAuthorized;
    case 'not-found':
      return reasonCodes.topicNameInvalid;
    case 'malformed':
    case 'unsupported':
    case 'too-large':
      return reasonCodes.payloadFormatInvalid;
    case 'quota':
    case 'too-many':
      return reasonCodes.quotaExceeded;
    default:
      return reasonCodes.implementationSpecificError;
  }
}

export function clientRefusalOf({ code }: Refusal): ClientRefusal {
  if (code === 'forbidden' || code === 'unauthenticated') return 'permission';
  if (code === 'not-found') return 'unknown';
  if (code === 'too-large') return 'too_large';
  if (code === 'quota' || code === 'too-many') return 'quota';
  return code === 'malformed' || code === 'unsupported' ? 'malformed' : 'conflict';
}
