// A TCP proxy before several servers: each connection goes to the next of them in turn that takes it.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class RoundRobin {
  readonly #server: Server;
  readonly #ports: () => readonly number[];
  readonly #sockets = new Set<Socket>();
  readonly port: number;
  #turn = 0;

  private constructor(server: Server, ports: () => readonly number[]) {
    this.#server = server;
    this.#ports = ports;
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param ports of the servers that are there at the moment. */
  static async open(ports: () => readonly number[]): Promise<RoundRobin> {
    const server = createServer({ pauseOnConnect: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new RoundRobin(server, ports);
    server.on('connection', (client) => proxy.#join(client, ports().length));
    return proxy;
  }

  #join(client: Socket, left: number): void {
    const ports = this.#ports();
    const port = ports[this.#turn++ % Math.max(1, ports.length)];
    if (port === undefined || left <= 0) {
      client.destroy();
      return;
    }
    const server = connect(port, '127.0.0.1');
    let isThrough = false;
    server.once('connect', () => {
      isThrough = true;
      client.pipe(server).pipe(client);
      client.resume();
    });
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
    }
    client.once('close', () => {
      this.#sockets.delete(client);
      server.destroy();
    });
    server.once('close', () => {
      this.#sockets.delete(server);
      if (isThrough || client.destroyed) client.destroy();
      else this.#join(client, left - 1);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
