// HTTP connections on which a test controls each byte: requests in pieces, one after the other or pipelined, and
// answers read one by one.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../until.ts';

/** Sends bytes in pieces, each in a turn of its own. */
async function send(socket: Socket, bytes: Buffer, cuts: readonly number[] = []): Promise<void> {
  const places = [0, ...cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length];
  for (const [i, place] of places.slice(1).entries()) {
    socket.write(bytes.subarray(places[i], place));
    for (let turns = 0; turns < 3; turns++) await turn();
  }
}

/** A connection as a device keeps it: it has asked before, and waits for each answer. */
export class Client {
  readonly #socket: Socket;
  readonly #answers: AsyncGenerator<string>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#answers = answersOf(socket);
  }

  static async connect(port: number): Promise<Client> {
    const client = new Client(await open(port));
    await client.ask(Buffer.from('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n'));
    return client;
  }

  /** The answer; undefined where the connection ended without one. */
  async ask(bytes: Buffer, cuts: readonly number[] = []): Promise<string | undefined> {
    await send(this.#socket, bytes, cuts);
    return (await this.#answers.next()).value;
  }

  /** Sends requests without waiting between them; the answers. */
  async askAtOnce(requests: readonly Buffer[], cuts: readonly number[] = []): Promise<(string | undefined)[]> {
    const sent = send(this.#socket, Buffer.concat(requests), cuts);
    const answers = [];
    for (let n = 0; n < requests.length; n++) answers.push((await this.#answers.next()).value);
    await sent;
    return answers;
  }

  get isOpen(): boolean {
    return this.#socket.readable && this.#socket.writable;
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** Each answer of a connection, with what says that its body may come. */
export async function* answersOf(socket: Socket): AsyncGenerator<string> {
  let text = '';
  let early = '';
  const pieces = socket.setEncoding('latin1')[Symbol.asyncIterator]();
  for (;;) {
    const head = text.slice(0, text.indexOf('\r\n\r\n') + 4);
    const end = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (head.length < 5 || text.length < end) {
      const { value, done } = await pieces.next();
      if (done) return;
      text += value;
      continue;
    }
    const answer = text.slice(0, end);
    text = text.slice(end);
    if (/^HTTP\/1\.1 1/.test(answer)) early += answer;
    else {
      yield early + answer;
      early = '';
    }
  }
}

/** A connection to a port of this machine. */
export async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  return socket;
}

/**
 * Connections that a server of this process has accepted, which may be many turns after the system has connected them: it accepts
 * one of each listening socket in a turn, and resets those that wait when it stops.
 */
export async function openAccepted(port: number, count: number): Promise<Socket[]> {
  let accepted = 0;
  const note = (message: unknown) => {
    if ((message as { readonly socket: Socket }).socket.localPort === port) accepted += 1;
  };
  subscribe('net.server.socket', note);
  try {
    const sockets = await Promise.all(Array.from({ length: count }, () => open(port)));
    await until(() => accepted >= count);
    return sockets;
  } finally {
    unsubscribe('net.server.socket', note);
  }
}

/** All that comes until the server ends the connection. */
export async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket.setEncoding('utf8')) text += piece;
  return text;
}
