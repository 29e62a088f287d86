// Whom a topic's messages go to, remembered from one message to the next: the connected clients with a filter for it, each
// once, and what each was granted. Used by subscribers.ts; forwarding.ts hands the messages over.
import { textHeapBytes } from '../../base/memory/heap-bytes.ts';
import type { Grant } from '../access.ts';
import type { Client } from '../session/client.ts';
import type { Topic } from '../topics.ts';
import type { SharedGroup } from './shared/shared-delivery.ts';

/** A subscriber of a topic. */
export interface TopicSubscriber {
  readonly client: Client;
  /** What it may get, as it was decided last; undefined until its first message. */
  grant: Grant | undefined;
}

export interface Recipients {
  readonly topic: Topic;
  readonly all: readonly TopicSubscriber[];
  /** Groups that share a filter for it: one member of each gets the message. */
  readonly groups: readonly SharedGroup[];
}

/** Estimated memory of recipients with their grants, in bytes. */
export function weightOfRecipients({ all, groups }: Recipients, topic: string): number {
  return 400 + 2 * textHeapBytes(topic) + all.length * recipientBytes + 8 * groups.length;
}

const recipientBytes = 160;
