// Reads the PROXY protocol header of connections, and hands them on with the client's address. Used by listeners.ts
// where DUNDUN_MQTT_PROXY_PROTOCOL is on. Cuts connections that do not come from a trusted proxy, begin with something
// else or take too long: a client that could send the header itself could choose its address.
import type { Socket } from 'node:net';
import type { Log } from '../../base/log.ts';
import type { TrustedProxies } from '../../base/network/trusted-proxies.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { type ProxyHeader, readProxyHeader } from './proxy-protocol.ts';

export interface ProxiedSocketsParts {
  readonly proxies: TrustedProxies;
  readonly clock: Clock;
  readonly log: Log;
  /** Receives a connection whose header has been read. */
  readonly accept: (socket: Socket, address: string) => void;
}

export class ProxiedSockets {
  readonly #parts: ProxiedSocketsParts;
  /** Connections without a complete header, the oldest first, and their deadlines. */
  readonly #waiting = new Map<Socket, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ProxiedSocketsParts) {
    this.#parts = parts;
  }

  take(socket: Socket): void {
    const { proxies, clock } = this.#parts;
    if (!proxies.trusts(socket.remoteAddress)) {
      this.#refuse(socket, 'it does not come from a trusted proxy');
      return;
    }
    this.#waiting.set(socket, clock.elapsedMs() + limits.proxyHeaderMsMax);
    this.#watch();
    let gathered: Buffer | undefined;
    const read = () => {
      const piece = socket.read() as Buffer | null;
      if (piece === null) return;
      gathered = gathered === undefined ? piece : Buffer.concat([gathered, piece]);
      const header = readProxyHeader(gathered);
      if (header === 'partial') return;
      settle();
      if (header === 'bad') this.#refuse(socket, 'it does not begin with a header of the PROXY protocol');
      else this.#accept(socket, header, gathered);
    };
    const drop = () => {
      settle();
      socket.destroy();
    };
    const settle = () => {
      this.#waiting.delete(socket);
      socket.off('readable', read).off('end', drop).off('error', drop).off('close', settle);
    };
    socket.on('readable', read).on('end', drop).on('error', drop).on('close', settle);
  }

  /** Cuts the connections without a complete header. */
  close(): void {
    clearTimeout(this.#timer);
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  #accept(socket: Socket, header: ProxyHeader, gathered: Buffer): void {
    const rest = gathered.subarray(header.bytes);
    if (rest.length > 0) socket.unshift(rest);
    this.#parts.accept(socket, this.#parts.proxies.clientOf(header.client ?? socket.remoteAddress, undefined));
  }

  #refuse(socket: Socket, reason: string): void {
    this.#parts.log.debug({ peer: socket.remoteAddress, reason }, 'an MQTT connection was closed');
    socket.on('error', () => {});
    socket.destroy();
  }

  /** Checks the deadlines while connections wait. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const nowMs = this.#parts.clock.elapsedMs();
      for (const [socket, untilMs] of this.#waiting) {
        if (untilMs > nowMs) break;
        this.#refuse(socket, 'the header of the PROXY protocol did not come in time');
      }
      if (this.#waiting.size > 0) this.#watch();
    }, limits.proxyHeaderLookMs).unref();
  }
}
