// The network between one server and its database, as a TCP proxy that is cut and healed: with a word, so that connections break, or
// without one, so that nothing comes through any more and nobody is told. It can be led to another database, as an address that
// follows the primary is.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

export class DatabaseLink {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;
  /** Path of the socket of the database. */
  #socket: string;
  /** The address of the database through the link. */
  readonly url: string;

  private constructor(server: Server, { url, socket }: { readonly url: string; readonly socket: string }) {
    this.#server = server;
    this.#socket = socket;
    this.url = url;
  }

  /** @param url of a database on a socket of this machine. */
  static async open(url: string): Promise<DatabaseLink> {
    const { pathname } = new URL(url);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const through = `postgres://dundun@127.0.0.1:${port}${pathname}`;
    const link = new DatabaseLink(server, { url: through, socket: socketOf(url) });
    server.on('connection', (near) => link.#join(near));
    return link;
  }

  #join(near: Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect(this.#socket);
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const end of pair) {
      end.on('error', () => {});
      end.once('close', () => {
        this.#pairs.delete(pair);
        for (const other of pair) other.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }

  cut({ isTold }: { readonly isTold: boolean }): void {
    this.#isCut = true;
    for (const [near, far] of this.#pairs) {
      if (isTold) near.destroy();
      else {
        near.unpipe();
        far.unpipe();
        near.pause();
        far.pause();
      }
    }
  }

  /** Connections that were cut without a word go on; new ones come through. */
  heal(): void {
    this.#isCut = false;
    for (const [near, far] of this.#pairs) near.pipe(far).pipe(near);
  }

  /** Leads to the database of that name on another server from now on, and is healed; connections to the former one break. */
  leadTo(url: string): void {
    this.#socket = socketOf(url);
    this.#isCut = false;
    for (const pair of this.#pairs) for (const end of pair) end.destroy();
  }

  close(): void {
    for (const pair of this.#pairs) for (const end of pair) end.destroy();
    this.#server.close();
  }
}

function socketOf(url: string): string {
  return join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432');
}
