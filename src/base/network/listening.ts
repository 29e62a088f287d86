// Listens on one port with several sockets, because libuv accepts one connection of each listening socket in a turn
// of the event loop: behind three hundred connections of one client, another client would wait for three hundred
// turns. With SO_REUSEPORT the system distributes connections over the sockets; without it there is one socket. All
// connections go to one server, and a port that another process uses is still an error. Used by http-server.ts and
// mqtt/listeners.ts.
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
 * Name of an abstract socket that serves as a lock and needs no file. Only one process of a network namespace can
 * listen on it, and only that process opens ports.
 */
const portLockName = '\0dundun opens a port';

export class Listening {
  readonly #server: Server;
  readonly #socketOptions: ServerOpts;
  readonly #beside: Server[] = [];
  #closed: Promise<unknown> = Promise.resolve();

  /** @param socketOptions the server's options, so that sockets accepted by the extra listeners behave like its own. */
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
    const portLock = queues > 1 && (await canShare(at)) ? await acquirePortLock() : undefined;
    try {
      if (portLock === undefined) await listen({ ...at, backlog: limits.acceptBacklog });
      else {
        // With SO_REUSEPORT the system would silently share the port with any other process that also uses
        // SO_REUSEPORT. So a first attempt without it finds out whether the port is free. Other Dundun processes wait
        // for the port lock meanwhile. Port 0 needs no check, because the system chooses a free one.
        if (at.port !== 0) await close(await listenAlone(at));
        await listen({ ...at, backlog: limits.acceptBacklog, reusePort: true });
        while (this.#beside.length < queues - 1 && (await this.#listenBeside(at.host))) {}
      }
    } finally {
      portLock?.close();
    }
    return this.#port;
  }

  /** Closes the extra sockets. The caller closes the server itself. */
  close(): void {
    this.#closed = Promise.all(this.#beside.splice(0).map(close));
  }

  /** After `close`: resolves when no connection of the extra sockets is left. */
  async closed(): Promise<void> {
    await this.#closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Opens one additional socket. Returns false where that fails, which only makes accepting slower. */
  async #listenBeside(host: string): Promise<boolean> {
    const beside = createServer(this.#socketOptions, (socket) => {
      // A peer that has already reset its connection has no address any more. Such a connection is destroyed here,
      // because setting it up in the server costs several times as much as accepting it.
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

/** Number of sockets for one port; fewer where the process may open few descriptors. */
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

/**
 * Waits until no other process of this machine opens ports. Returns undefined where abstract sockets do not exist or
 * the wait takes too long.
 */
async function acquirePortLock(): Promise<Server | undefined> {
  const endMs = performance.now() + limits.portLockMsMax;
  for (;;) {
    try {
      return await listenAlone({ path: portLockName });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || performance.now() >= endMs) return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, limits.portLockLookMs));
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
