// A TCP proxy between a client and the server that cuts: all connections at a word, or each at the moment when the server
// answers, so that the request was carried out and its answer is lost. For tests of what clients repeat.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly port: number;
  /** How many of the next answers are lost, each with its connection. */
  answersToLose = 0;
  /** Answers lost so far. */
  lost = 0;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** A proxy in front of a port of this machine. */
  static async open(port: number): Promise<CuttingProxy> {
    const server = createServer({ allowHalfOpen: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttingProxy(server);
    server.on('connection', (client) => proxy.#join(client, connect(port, '127.0.0.1')));
    return proxy;
  }

  #join(client: Socket, server: Socket): void {
    const sockets = [client, server] as const;
    for (const socket of sockets) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const other of sockets) other.destroy();
      });
    }
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      if (this.answersToLose > 0) {
        this.answersToLose -= 1;
        this.lost += 1;
        client.destroy();
      } else client.write(bytes);
    });
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
