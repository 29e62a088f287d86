// Listens on one port with several sockets. libuv accepts one connection of each listening socket in a turn of the
// event loop, so that behind three hundred connections of one client another would wait for three hundred turns. With
// SO_REUSEPORT the system distributes connections over several sockets. Used by http-server.ts and mqtt/listeners.ts. A
// port in use by another process is still an error; all connections go to the one server; where the system lacks
// SO_REUSEPORT there is one socket.
import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server, type ServerOpts } from 'node:net';
import { limits } from '../../config/limits.ts';
import { descriptorsMax } from './descriptors.ts';

export interface Port {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/**
 * An abstract socket name, which needs no file: the process that holds it is the one on this machine (network
 * namespace) that is opening ports.
 */
const turnName = '\0dundun opens a port';

export class Listening {
  readonly #server: Server;
  readonly #socketOptions: ServerOpts;
  readonly #beside: Server[] = [];
  #closed: Promise<unknown> = Promise.resolve();

  /** @param socketOptions the server's options, so that sockets accepted beside it are like its own. */
  constructor(server: Server, socketOptions: ServerOpts) {
    this.#server = server;
    this.#socketOptions = socketOptions;
  }

  /**
   * Starts to listen and returns the port.
   * @param listen starts the server itself, where that is not its own `listen`.
   * @throws Error when the port is in use, or the address is not one of this machine.
   */
  async open(
    at: Port,
    listen: (options: ListenOptions) => Promise<unknown> = (options) => listenOn(this.#server, options),
  ): Promise<number> {
    const queues = queuesMax();
    const turn = queues > 1 && (await canShare(at)) ? await takeTurn() : undefined;
    try {
      if (turn === undefined) await listen({ ...at, backlog: limits.acceptBacklog });
      else {
        // With SO_REUSEPORT the system would share the port with any other process that uses it too; without it, it
        // refuses. Other Dundun processes wait for their turn meanwhile. A free port chosen by the system needs no
        // check.
        if (at.port !== 0) await close(await listenAlone(at));
        await listen({ ...at, backlog: limits.acceptBacklog, reusePort: true });
        while (this.#beside.length < queues - 1 && (await this.#listenBeside(at.host))) {}
      }
    } finally {
      turn?.close();
    }
    return this.#port;
  }

  /** Closes the additional sockets; the server's own `close` is up to its owner. */
  close(): void {
    this.#closed = Promise.all(this.#beside.splice(0).map(close));
  }

  /** After `close`: resolves when no connection of the additional sockets is left. */
  async closed(): Promise<void> {
    await this.#closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Opens one additional socket; false where that fails, which only makes accepting slower. */
  async #listenBeside(host: string): Promise<boolean> {
    const beside = createServer(this.#socketOptions, (socket) => {
      // Who connects and resets at once is gone by now, and has no address any more: what a server sets up for a connection
      // costs several times what accepting it does.
      if (socket.remoteAddress === undefined) socket.destroy();
      else this.#server.emit('connection', socket);
    });
    try {
      await listenOn(beside, { host, port: this.#port, backlog: limits.acceptBacklog, reusePort: true });
    } catch {
      return false;
    }
    this.#beside.push(beside);
    return true;
  }
}

/** Sockets for one port; fewer where the process may open few descriptors. */
function queuesMax(): number {
  const descriptors = descriptorsMax() ?? Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(limits.acceptQueuesMax, Math.floor(descriptors / limits.acceptQueueDescriptors)));
}

/** Whether the system lets several sockets listen on one port of the address. */
async function canShare({ host }: Port): Promise<boolean> {
  try {
    await close(await listenAlone({ host, port: 0, reusePort: true }));
    return true;
  } catch {
    return false;
  }
}

/** Waits until no other process on this machine is opening ports; undefined where that is unknown or takes too long. */
async function takeTurn(): Promise<Server | undefined> {
  const endMs = performance.now() + limits.portTurnMsMax;
  for (;;) {
    try {
      return await listenAlone({ path: turnName });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() >= endMs) return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, limits.portTurnLookMs));
  }
}

/** A server that destroys its connections. */
async function listenAlone(options: ListenOptions): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).destroy());
  await listenOn(server, options);
  return server;
}

async function listenOn(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
