// How a client of the broker is read: several parts of this service hold reading up, each for a reason of its own, and
// it goes on when the last of them lets go; and who wants to go on behind the packets that the broker has is told when it is
// done with them. Set up by fast-path.ts.
import type { Client } from 'aedes';

/** What of a client of aedes its types do not show: while it is paused nothing more is read. */
interface Connection {
  _paused: boolean;
  /** Packets whose work is under way; nothing more is read while there are any. */
  _parsingBatch: number;
  /** The broker is done with a packet: reads on behind the last. */
  _nextBatch: (error?: Error | null) => void;
  readonly _parser: { prependListener(event: 'packet', listener: () => void): void };
}

interface Reading {
  readonly next: (error?: Error | null) => void;
  /** How many hold it up. */
  holds: number;
  /** Packets that the broker has and is not done with. */
  underWay: number;
  whenDone: (() => void) | undefined;
}

const readings = new WeakMap<Client, Reading>();

/** Watches over a client that nothing has been read of. */
export function watchReading(client: Client): void {
  const connection = client as unknown as Connection;
  const reading: Reading = { next: connection._nextBatch, holds: 0, underWay: 0, whenDone: undefined };
  readings.set(client, reading);
  connection._parser.prependListener('packet', () => {
    reading.underWay += 1;
  });
  connection._nextBatch = (error) => {
    reading.underWay -= 1;
    reading.next(error);
    if (reading.underWay > 0) return;
    const { whenDone } = reading;
    reading.whenDone = undefined;
    whenDone?.();
  };
}

/** Reads on behind packets that the broker was not given, when there are no others; or cuts the client for an error. */
export function readNext(client: Client, error?: Error): void {
  readings.get(client)?.next(error);
}

/** Nothing more is read of the client until `readOn` has been called as often. */
export function holdReading(client: Client): void {
  const reading = readings.get(client);
  if (reading === undefined) return;
  reading.holds += 1;
  (client as unknown as Connection)._paused = true;
}

export function isReadingHeld(client: Client): boolean {
  return (readings.get(client)?.holds ?? 0) > 0;
}

/** Calls back when the broker is done with all packets that it has; for one at a time, who holds reading up. */
export function onceDone(client: Client, done: () => void): void {
  const reading = readings.get(client);
  if (reading === undefined || reading.underWay <= 0) done();
  else reading.whenDone = done;
}

/** One who held reading up does so no more. */
export function readOn(client: Client): void {
  const reading = readings.get(client);
  if (reading === undefined) return;
  reading.holds -= 1;
  if (reading.holds > 0 || client.closed) return;
  // What was under way at the time has not been counted while nothing was read.
  Object.assign(client, { _paused: false, _parsingBatch: 0 });
  reading.next();
}
