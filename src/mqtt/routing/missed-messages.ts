// Messages of commits that stored sessions have missed, because no process had these sessions just then: they are made once more, as
// delivery makes them, and kept for those sessions alone. The engine reads the commits (engines/shared/mqtt/sessions).
import type { CommittedPushesOf } from '../../domain/datapoints/followed-pushes.ts';
import type { ClientMessage } from '../../domain/ports/commit-log.ts';
import type { MissedCommit, MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { type Delivery, formsOf } from './delivery.ts';
import type { OutgoingPublish } from './publish-router.ts';
import { RoutedMessage } from './routed-message.ts';

interface MissedMessagesParts {
  readonly stored: Pick<MqttSessions, 'enqueueMissed'>;
  readonly committedPushesOf: CommittedPushesOf;
  readonly delivery: Pick<Delivery, 'messagesOf'>;
  /** Messages between clients, those to gateways that were removed meanwhile left out. */
  readonly prepared: (messages: readonly ClientMessage[]) => Promise<readonly ClientMessage[]>;
}

export class MissedMessages {
  readonly #parts: MissedMessagesParts;

  constructor(parts: MissedMessagesParts) {
    this.#parts = parts;
  }

  /** All are kept in one turn, so that none is twice where this fails and is called again. */
  async keep(commits: readonly MissedCommit[]): Promise<void> {
    const { committedPushesOf, prepared, delivery, stored } = this.#parts;
    const made: { readonly place: number; readonly message: OutgoingPublish }[] = [];
    for (const { place, pushes, messages } of commits) {
      const kept = pushes.filter(({ original }) => (original?.qos ?? 0) > 0);
      const committed = kept.length === 0 ? [] : await committedPushesOf(kept);
      const relayed = await prepared(messages.filter(({ qos }) => qos > 0));
      for (const message of [...committed.flatMap((push) => delivery.messagesOf(push)), ...relayed.flatMap(formsOf)])
        made.push({ place, message });
    }
    for (const { place, message } of made) stored.enqueueMissed(new RoutedMessage(message).toStore(), place);
  }
}
