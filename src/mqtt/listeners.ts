// The ports of MQTT: plain TCP, optionally behind proxies that name the client, and TLS. Used by mqtt-server.ts alone,
// which gets each connection from here. Every accepted connection is closed in the end, signed in or not.
import { createServer as createTcpServer, type Server, type ServerOpts, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { Listening } from '../base/network/listening.ts';
import { AcceptedSockets, type ConnectionAdmission } from '../base/network/sockets.ts';
import { limits } from '../config/limits.ts';
import { noteCertificate } from './client-certificate.ts';
import type { MqttOptions, MqttPorts } from './mqtt-options.ts';
import { ProxiedSockets, type ProxiedSocketsParts } from './proxy/proxied-sockets.ts';

export interface ListenersParts extends ProxiedSocketsParts {
  readonly options: MqttOptions;
  readonly connections: ConnectionAdmission;
}

export class Listeners {
  readonly #parts: ListenersParts;
  readonly #socketOptions: ServerOpts = {
    noDelay: true,
    highWaterMark: limits.subscriberBytesMax + 64 * 1024,
    // The system detects clients that have vanished and use no MQTT keep-alive.
    keepAlive: true,
    keepAliveInitialDelay: limits.tcpKeepAliveMs,
  };
  readonly #proxied: ProxiedSockets;
  readonly #servers: Server[] = [];
  readonly #listening: Listening[] = [];
  readonly #accepted: AcceptedSockets[] = [];
  #tlsServer: TlsServer | undefined;
  /** Connections that brought a certificate; as many as there are. */
  readonly #certified = new Set<TLSSocket>();

  constructor(parts: ListenersParts) {
    this.#parts = parts;
    this.#proxied = new ProxiedSockets(parts);
  }

  /** The server of MQTT over TLS, once it is started. */
  get tlsServer(): TlsServer | undefined {
    return this.#tlsServer;
  }

  /** Opens the ports. @throws Error when one is in use. */
  async start(): Promise<MqttPorts> {
    return { ...(await this.#startPlain()), ...(await this.#startTls()) };
  }

  /** Accepts no new connections. */
  close(): void {
    for (const listening of this.#listening) listening.close();
    for (const server of this.#servers) server.close();
    this.#proxied.close();
  }

  /** Closes every connection. */
  cutAll(): void {
    for (const sockets of this.#accepted) sockets.cutAll();
  }

  /** Closes the connections that were judged by what certificates are judged by no more, or are being judged so. */
  cutCertified(): void {
    for (const sockets of this.#accepted) sockets.cutUseless();
    for (const socket of this.#certified) socket.destroy();
  }

  async #startPlain(): Promise<MqttPorts> {
    const { port, proxyProtocol } = this.#parts.options;
    if (port === undefined) return {};
    const take = (socket: Socket) => (proxyProtocol ? this.#proxied.take(socket) : this.#take(socket));
    return { mqtt: await this.#listen(createTcpServer(this.#socketOptions, take), port) };
  }

  async #startTls(): Promise<MqttPorts> {
    const { tls } = this.#parts.options;
    if (tls === undefined) return {};
    const asks = tls.certificates !== 'none';
    const options = {
      ...{ ...this.#socketOptions, ...tls.options, handshakeTimeout: limits.tlsHandshakeMsMax },
      // Judged in `#takeSecured`, because those without one may be let in.
      ...{ requestCert: asks, rejectUnauthorized: false },
    };
    const server = createTlsServer(options, (socket) => (asks ? this.#takeSecured(socket) : this.#take(socket)));
    this.#tlsServer = server;
    return { mqtts: await this.#listen(server, tls.port) };
  }

  /** A certificate that is not to be trusted is no less than a wrong password: who brings it is not let in by another way. */
  #takeSecured(socket: TLSSocket): void {
    const certificate = noteCertificate(socket);
    const isRequired = this.#parts.options.tls?.certificates === 'required';
    if (certificate === 'invalid' || (certificate === 'none' && isRequired)) {
      socket.destroy();
      return;
    }
    if (certificate === 'noted') {
      this.#certified.add(socket);
      socket.once('close', () => this.#certified.delete(socket));
    }
    this.#take(socket);
  }

  #take(socket: Socket): void {
    this.#parts.accept(socket, this.#parts.proxies.clientOf(socket.remoteAddress, undefined));
  }

  #listen(server: Server, port: number): Promise<number> {
    this.#servers.push(server);
    this.#accepted.push(new AcceptedSockets(server, { connectionAdmission: this.#parts.connections }));
    const listening = new Listening(server, this.#socketOptions);
    this.#listening.push(listening);
    return listening.open({ port, host: this.#parts.options.host });
  }
}
