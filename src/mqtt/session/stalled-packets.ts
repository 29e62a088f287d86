// Cuts clients that have begun a packet and send no more of it; a keep-alive of 0 would allow that for ever. Checks all
// connections periodically, so that normal packets cost nothing. Used by mqtt-server.ts; packets that hold much memory
// are cut sooner (partial-packet.ts). Silent clients without a partial packet may stay, as MQTT allows; where connections
// are scarce, connection-limiter.ts decides.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Client } from './client.ts';

/** A packet that was incomplete at the last check. */
interface PartialPacket {
  /** Bytes received on the connection by then. */
  readonly bytesRead: number;
  /** When it was first seen without progress, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
}

export interface StalledPacketsParts {
  readonly clock: Clock;
  readonly clients: () => Iterable<Client>;
  /** Whether part of a packet has arrived from the client. */
  readonly hasBegun: (client: Client) => boolean;
  /** Called with a client that is cut. */
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
    const nowMs = clock.elapsedMs();
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
