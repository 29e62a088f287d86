// Cuts clients that have begun a packet and send nothing more of it: a keep-alive of 0 lets them do so for ever. Looks at all
// connections from time to time, so that nothing is done for a packet that comes as usual. Used by mqtt-server.ts; packets
// that hold much memory are cut sooner (packet-bound.ts). Who has begun nothing and is silent may stay: MQTT lets it, and
// where connections are scarce the share of its address decides (connection-limiter.ts).
import type { Client } from 'aedes';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';

/** A packet that had been begun at the last look. */
interface PartialPacket {
  /** Bytes that had come on the connection. */
  readonly bytesRead: number;
  /** When nothing more had come for the first time, milliseconds since 1970 UTC. */
  readonly sinceMs: number;
}

export interface StalledPacketsParts {
  readonly clock: Clock;
  readonly clients: () => Iterable<Client>;
  /** Whether a packet of the client has come in part. */
  readonly hasBegun: (client: Client) => boolean;
  /** Told of one that is cut. */
  readonly onCut: (client: Client) => void;
}

export class StalledPackets {
  readonly #parts: StalledPacketsParts;
  #begun = new Map<Client, PartialPacket>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: StalledPacketsParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), limits.packetStallLookMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { clock, clients, hasBegun, onCut } = this.#parts;
    const nowMs = clock.now();
    const before = this.#begun;
    this.#begun = new Map();
    for (const client of clients()) {
      if (!hasBegun(client)) continue;
      const { bytesRead } = client.conn as unknown as { readonly bytesRead: number };
      const known = before.get(client);
      const begun = known?.bytesRead === bytesRead ? known : { bytesRead, sinceMs: nowMs };
      if (nowMs - begun.sinceMs < limits.packetStallMs) this.#begun.set(client, begun);
      else {
        onCut(client);
        client.conn.destroy();
      }
    }
  }
}
