// Counts firings and messages since the start, for the metrics. They are counted after they are stored.
import type { MessageState } from './message.ts';

export interface ChannelCount {
  readonly channel: string;
  readonly count: number;
}

export class NotificationCounters {
  /** Stored firings, without recoveries. */
  firings = 0;
  /** Messages not sent because a cap of paid messages was reached. */
  capped = 0;
  // Bounded by the number of channels.
  readonly #ended = new Map<string, Map<MessageState, number>>();
  readonly #errors = new Map<string, number>();

  /** Counts a message that has reached its final state; ignores a queued one. */
  end(channel: string, state: MessageState): void {
    if (state === 'queued') return;
    const states = this.#ended.get(channel) ?? new Map<MessageState, number>();
    this.#ended.set(channel, states);
    states.set(state, (states.get(state) ?? 0) + 1);
  }

  /** Counts an attempt that the provider refused or did not answer. */
  fail(channel: string): void {
    this.#errors.set(channel, (this.#errors.get(channel) ?? 0) + 1);
  }

  get ended(): (ChannelCount & { readonly state: MessageState })[] {
    return [...this.#ended].flatMap(([channel, states]) =>
      [...states].map(([state, count]) => ({ channel, state, count })),
    );
  }

  get errors(): ChannelCount[] {
    return [...this.#errors].map(([channel, count]) => ({ channel, count }));
  }
}
