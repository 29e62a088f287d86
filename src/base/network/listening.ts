// How a server listens: on one port with several queues of connections to accept. libuv accepts one connection of a
// listening socket in a turn of the event loop, so that behind a stranger's three hundred a newcomer would wait for three
// hundred turns. With SO_REUSEPORT the system deals newcomers out over several sockets, and each turn accepts one of each.
// Used by http-server.ts and mqtt/listeners.ts. Keeps true: a port that anybody else listens on is an error, as ever; all
// connections are the one server's; where the system knows no SO_REUSEPORT the server listens alone.
import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server, type ServerOpts } from 'node:net';
import { limits } from '../../config/limits.ts';
import { descriptorsMax } from './descriptors.ts';

export interface Port {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/** Held by whoever opens ports on this machine (network namespace) at this moment: a name that needs no file. */
const turnName = '\0dundun opens a port';

export class Listening {
  readonly #server: Server;
  readonly #socketOptions: ServerOpts;
  readonly #beside: Server[] = [];
  #closed: Promise<unknown> = Promise.resolve();

  /** @param socketOptions what the server was made with: sockets accepted beside it are like its own. */
  constructor(server: Server, socketOptions: ServerOpts) {
    this.#server = server;
    this.#socketOptions = socketOptions;
  }

  /**
   * Has the server listen; the port it has.
   * @param listen how the server itself is told to, where that is not its own `listen`.
   * @throws Error when the port is in use, or the address is none of this machine.
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
        // The system would share the port with whoever has it by SO_REUSEPORT; alone it is refused. Nobody else of ours can
        // come between: they wait for their turn. A free port that the system chooses is nobody's.
        if (at.port !== 0) await close(await listenAlone(at));
        await listen({ ...at, backlog: limits.acceptBacklog, reusePort: true });
        while (this.#beside.length < queues - 1 && (await this.#listenBeside(at.host))) {}
      }
    } finally {
      turn?.close();
    }
    return this.#port;
  }

  /** Takes no new connections beside the server itself, whose own `close` is for its owner to call. */
  close(): void {
    this.#closed = Promise.all(this.#beside.splice(0).map(close));
  }

  /** Once closed: resolves when no connection that was accepted beside the server is left. */
  async closed(): Promise<void> {
    await this.#closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** One more queue; false where it cannot be had, which costs newcomers time and nobody anything else. */
  async #listenBeside(host: string): Promise<boolean> {
    const beside = createServer(this.#socketOptions, (socket) => this.#server.emit('connection', socket));
    try {
      await listenOn(beside, { host, port: this.#port, backlog: limits.acceptBacklog, reusePort: true });
    } catch {
      return false;
    }
    this.#beside.push(beside);
    return true;
  }
}

/** Queues of one port: fewer where the process may have few descriptors, for each takes one. */
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

/** Waits until nobody else on this machine opens a port; undefined where that cannot be found out, or takes too long. */
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

/** A server that is not there to be talked to. */
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
