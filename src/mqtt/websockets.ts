// MQTT over WebSocket. The HTTP server hands over each upgrade request; this file completes the handshake and gives the
// connection to mqtt-server.ts as a stream of bytes, bounded like a TCP connection.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { SecurityHeaders } from '../base/network/security-headers.ts';
import { sendAndClose } from '../base/network/sockets.ts';
import type { TrustedProxies } from '../base/network/trusted-proxies.ts';
import { limits } from '../config/limits.ts';
import type { ByteBudget } from '../domain/callers/byte-budget.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { Client } from './session/client.ts';
import { budgetFrames } from './websocket-bytes.ts';
import { WebSocketSocket } from './websocket-socket.ts';

export interface WebSocketsParts {
  readonly proxies: TrustedProxies;
  /** The handshake is answered here and by ws, outside of the HTTP server. */
  readonly securityHeaders: SecurityHeaders;
  readonly byteBudget: ByteBudget;
  /** Makes a client of the connection, with the address of its peer. */
  readonly accept: (stream: Duplex, address: string, request: IncomingMessage) => Client;
  /** Whom the bytes of a client are counted for; undefined before it has signed in. */
  readonly callerOf: (client: Client) => Caller | undefined;
  /** Whose turns its frames take; before the sign-in the address. */
  readonly turnsOf: (client: Client) => Caller;
}

const nothing = Buffer.alloc(0);

export class WebSockets {
  readonly #parts: WebSocketsParts;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: limits.mqttPacketBytesMax,
    perMessageDeflate: false,
    handleProtocols: (protocols) => [...protocols].find((name) => name.startsWith('mqtt')) ?? false,
  });
  readonly #socketOf = new WeakMap<Client, WebSocketSocket>();

  #isClosed = false;

  constructor(parts: WebSocketsParts) {
    this.#parts = parts;
    this.#server.on('headers', (headers, request) => {
      for (const [name, value] of parts.securityHeaders.ofRequest(request).pairs) headers.push(`${name}: ${value}`);
    });
  }

  /** Completes an upgrade; the HTTP server passes only upgrades to MQTT over WebSocket (http/server/upgrades.ts). */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { proxies, securityHeaders, byteBudget, accept, callerOf, turnsOf } = this.#parts;
    if (this.#isClosed) {
      const status = `HTTP/1.1 503 Service Unavailable\r\n${securityHeaders.ofRequest(request).lines}`;
      sendAndClose(socket, `${status}Content-Length: 0\r\nConnection: close\r\n\r\n`);
      return;
    }
    const ours = new WebSocketSocket(socket, head);
    // As ws does with a socket of the network.
    (socket as Socket).setTimeout(0);
    (socket as Socket).setNoDelay(true);
    this.#server.handleUpgrade(request, ours, nothing, (webSocket) => {
      const stream = createWebSocketStream(webSocket, {
        readableHighWaterMark: limits.unreadMessageBytes,
        writableHighWaterMark: limits.subscriberBytesMax + 64 * 1024,
      });
      // stalled-packets.ts and sys-topics.ts read these, which a stream of ws does not have.
      Object.defineProperty(stream, 'bytesRead', { get: () => (socket as Socket).bytesRead });
      Object.defineProperty(stream, 'bytesWritten', { get: () => (socket as Socket).bytesWritten });
      const client = accept(stream, proxies.clientOfRequest(request), request);
      this.#socketOf.set(client, ours);
      const onParsed = budgetFrames(webSocket, { socket: ours, budget: byteBudget, callerOf: () => callerOf(client) });
      ours.begin({ callerOf: () => turnsOf(client), onParsed });
    });
  }

  /** Whether a WebSocket message of the client has begun and is not complete. */
  hasBegun(client: Client): boolean {
    return (this.#socketOf.get(client)?.begunBytes ?? 0) > 0;
  }

  /** Accepts nothing more, and ends all connections. */
  close(): void {
    this.#isClosed = true;
    this.#server.close();
    // Some peers do not answer a closing handshake, and the HTTP server waits for their sockets.
    for (const webSocket of this.#server.clients) webSocket.terminate();
  }
}
