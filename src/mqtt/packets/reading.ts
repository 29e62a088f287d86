// Pauses and resumes reading from a client of the broker. Several parts may pause it, each for its own reason; it
// resumes when the last of them has resumed it. `onceDone` calls back when the broker has finished the packets it has, and
// `onceAccepted` when it has answered the CONNECT. Set up by packet-reader.ts.
import type { Client } from 'aedes';

/** Fields of aedes's client that its types do not declare; while `_paused` is set nothing is read. */
interface Connection {
  _paused: boolean;
  /** Packets being processed; nothing more is read while there are any. */
  _parsingBatch: number;
  /** aedes calls this after each packet; after the last it reads on. */
  _nextBatch: (error?: Error | null) => void;
  /** aedes calls this once, when the client has its CONNACK. */
  resume: () => void;
  readonly _parser: { prependListener(event: 'packet', listener: () => void): void };
}

interface PacketFlow {
  readonly next: (error?: Error | null) => void;
  /** How many pauses are active. */
  holds: number;
  /** Packets that the broker is processing. */
  underWay: number;
  readonly whenDone: (() => void)[];
  whenAccepted: (() => void) | undefined;
}

const flows = new WeakMap<Client, PacketFlow>();

/** Prepares a client from which nothing has been read yet. */
export function watchReading(client: Client): void {
  const connection = client as unknown as Connection;
  const flow: PacketFlow = {
    next: connection._nextBatch,
    holds: 0,
    underWay: 0,
    whenDone: [],
    whenAccepted: undefined,
  };
  flows.set(client, flow);
  connection._parser.prependListener('packet', () => {
    flow.underWay += 1;
  });
  connection._nextBatch = (error) => {
    // aedes calls it once more than there were packets: after the CONNECT.
    flow.underWay = Math.max(0, flow.underWay - 1);
    flow.next(error);
    if (flow.underWay > 0) return;
    for (const done of flow.whenDone.splice(0)) done();
  };
  const resume = connection.resume.bind(connection);
  connection.resume = () => {
    // Otherwise the part that has paused reading resumes it.
    if (flow.holds === 0) resume();
    flow.whenAccepted?.();
    flow.whenAccepted = undefined;
  };
}

/**
 * Reads on after packets that the broker did not get, unless it is processing others; or cuts the client for an error.
 */
export function readNext(client: Client, error?: Error): void {
  flows.get(client)?.next(error);
}

/** Pauses reading until `readOn` has been called as often. */
export function holdReading(client: Client): void {
  const flow = flows.get(client);
  if (flow === undefined) return;
  flow.holds += 1;
  (client as unknown as Connection)._paused = true;
}

/** Whether any part has paused reading. */
export function isReadingHeld(client: Client): boolean {
  return (flows.get(client)?.holds ?? 0) > 0;
}

/** How many packets the broker is processing. */
export function packetsUnderWay(client: Client): number {
  return flows.get(client)?.underWay ?? 0;
}

/**
 * Calls `done` when the broker has finished all packets it has. The caller must have paused reading.
 */
export function onceDone(client: Client, done: () => void): void {
  const flow = flows.get(client);
  if (flow === undefined || flow.underWay <= 0) done();
  else flow.whenDone.push(done);
}

/** Calls `done` when the CONNECT is answered; never where it is refused. One caller, which must have paused reading. */
export function onceAccepted(client: Client, done: () => void): void {
  const flow = flows.get(client);
  if (flow !== undefined) flow.whenAccepted = done;
}

/** Ends one pause. */
export function readOn(client: Client): void {
  const flow = flows.get(client);
  if (flow === undefined) return;
  flow.holds -= 1;
  if (flow.holds > 0 || client.closed) return;
  // aedes did not count finished packets while it was paused.
  Object.assign(client, { _paused: false, _parsingBatch: 0 });
  flow.next();
}
