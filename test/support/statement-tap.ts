// Stands between a service and PostgreSQL and notes the text of every statement that is sent, whichever thread or pool sends it. It reads the messages of
// clients that have statements: Query, and Parse, which comes once for each text and connection.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const socketName = '.s.PGSQL.5432';
const lengthBytes = 4;

export class StatementTap {
  /** The texts, in the order in which they were first sent. */
  readonly statements = new Set<string>();
  readonly #server: Server;
  readonly #folder: string;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  /** @param folder where the server has its socket. */
  static async open(folder: string): Promise<StatementTap> {
    const own = mkdtempSync(join(tmpdir(), 'dundun-tap-'));
    const server = createServer();
    server.listen(join(own, socketName));
    await once(server, 'listening');
    const tap = new StatementTap(server, own);
    server.on('connection', (client) => tap.#join(client, connect(join(folder, socketName))));
    return tap;
  }

  /** The address by which a database is reached through the tap. */
  url(direct: string): string {
    const url = new URL(direct);
    url.searchParams.set('host', this.#folder);
    return url.href;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #join(client: Socket, server: Socket): void {
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    const messages = new ClientMessages((sql) => this.statements.add(sql));
    client.on('data', (bytes) => {
      messages.add(bytes);
      server.write(bytes);
    });
    server.on('data', (bytes) => client.write(bytes));
  }
}

/** Cuts what a client sends into messages. The first one has no type. */
class ClientMessages {
  readonly #onStatement: (sql: string) => void;
  #rest: Buffer = Buffer.alloc(0);
  #hasStarted = false;

  constructor(onStatement: (sql: string) => void) {
    this.#onStatement = onStatement;
  }

  add(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const head = this.#hasStarted ? 1 : 0;
      if (this.#rest.length < head + lengthBytes) return;
      const length = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < length) return;
      if (this.#hasStarted) this.#take(String.fromCharCode(this.#rest[0] as number), this.#rest.subarray(5, length));
      this.#hasStarted = true;
      this.#rest = this.#rest.subarray(length);
    }
  }

  #take(type: string, body: Buffer): void {
    const texts = body.toString().split('\0');
    if (type === 'Q') this.#onStatement(texts[0] as string);
    if (type === 'P') this.#onStatement(texts[1] as string);
  }
}
