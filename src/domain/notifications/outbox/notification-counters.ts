// What has become of firings and messages since the start, for the metrics. Counted where it is known to be written.
import type { MessageState } from './message.ts';

export interface ChannelCount {
  readonly channel: string;
  readonly count: number;
}

export class NotificationCounters {
  /** Firings recorded; recoveries are none. */
  firings = 0;
  /** Messages that did not go because a cap of paid messages was reached. */
  capped = 0;
  // Bounded by the channels that there are.
  readonly #ended = new Map<string, Map<MessageState, number>>();
  readonly #errors = new Map<string, number>();

  /** A message has come to its end; one that waits has not. */
  end(channel: string, state: MessageState): void {
    if (state === 'queued') return;
    const states = this.#ended.get(channel) ?? new Map<MessageState, number>();
    this.#ended.set(channel, states);
    states.set(state, (states.get(state) ?? 0) + 1);
  }

  /** A try that the other side did not accept, or did not answer. */
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
