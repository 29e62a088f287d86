// Clients that push over REST without a pause, one request after the other, until they are stopped or the server is
// gone; answers go into the ledger.

import { call } from '../process.ts';
import type { Ledger, Sent } from './ledger.ts';

export interface Pusher {
  /** Ends after the request that is under way. */
  stop(): void;
  /** Resolves when it has ended: asked to, or because the server does not answer any more. */
  readonly done: Promise<void>;
}

export interface PusherOptions {
  readonly server: { readonly url: string };
  readonly ledger: Ledger;
  readonly sensor: string;
  /** Datapoints of the next push; one goes as an object, several as an array. */
  readonly size?: () => number;
  /** The timestamp of the next push, for all its datapoints. */
  readonly timestamp?: () => string;
  /** Sent as Idempotency-Key with the first value behind it. */
  readonly keyPrefix?: string;
  /** Statuses beside 503 that mean not stored. */
  readonly refusals?: readonly number[];
}

/** Starts a client. */
export function startPusher(options: PusherOptions): Pusher {
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      const sent = options.ledger.enter(options.sensor, options.size?.() ?? 1, options.timestamp?.());
      await push(options, sent, options.refusals);
      if (sent.told === 'open') return;
    }
  };
  return {
    stop: () => {
      stopped = true;
    },
    done: run(),
  };
}

/** Sends one push of the ledger, for the first time or again, and enters the answer; `refusals` mean not stored. */
export async function push(
  { server, ledger, keyPrefix }: Omit<PusherOptions, 'sensor'>,
  sent: Sent,
  refusals: readonly number[] = [],
): Promise<void> {
  const values = Array.from({ length: sent.count }, (_, i) => ({
    value: sent.first + i,
    ...(sent.timestamp !== undefined && { timestamp: sent.timestamp }),
  }));
  const path = `/api/v2/devices/${ledger.device}/sensors/${sent.sensor}/values`;
  const headers: Record<string, string> =
    keyPrefix === undefined ? {} : { 'idempotency-key': `${keyPrefix}-${sent.first}` };
  try {
    const answer = await call(server, path, { json: sent.count === 1 ? values[0] : values, headers });
    if (answer.status === 204) sent.told = 'stored';
    else if (answer.status === 503 || refusals.includes(answer.status)) sent.told = 'refused';
    else throw new Error(`A push was answered with ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  } catch (error) {
    // No answer: the server was stopped or killed.
    if (!(error instanceof TypeError)) throw error;
  }
}
