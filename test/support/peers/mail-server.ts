// A mail server for tests (RFC 5321 over node:net): accepts messages, gives a configured reply, stops answering, or
// closes the connection. Records commands and messages.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** What it does at a command in place of what is usual: a reply such as `550 5.1.1 no such user`, or none. */
export type MailReply = string | 'silence' | 'cut';

/** Commands, and the moments that have none: the greeting, and the end of a message. */
export type Moment = 'greeting' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'message';

export class MailServer {
  readonly commands: string[] = [];
  readonly messages: string[] = [];
  readonly #replies = new Map<Moment, MailReply>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** @param port of the loopback address; by default a free one. */
  static async start(port = 0): Promise<MailServer> {
    const server = new MailServer();
    server.#server.listen(port, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get last(): string {
    const message = this.messages.at(-1);
    assert.ok(message !== undefined, 'a message came');
    return message;
  }

  /** From now on; everything else is as usual. */
  replies(replies: { readonly [M in Moment]?: MailReply } = {}): void {
    this.#replies.clear();
    for (const [moment, reply] of Object.entries(replies)) this.#replies.set(moment as Moment, reply);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    let waiting = '';
    let isMessage = false;
    this.#answer(socket, 'greeting', '220 mail.farm.example ESMTP');
    socket.on('data', (bytes) => {
      waiting += bytes.toString('utf8');
      for (;;) {
        const end = isMessage ? '\r\n.\r\n' : '\r\n';
        const at = waiting.indexOf(end);
        if (at < 0) return;
        const piece = waiting.slice(0, at);
        waiting = waiting.slice(at + end.length);
        if (isMessage) {
          isMessage = false;
          this.messages.push(piece);
          this.#answer(socket, 'message', '250 2.0.0 queued as 4711');
        } else {
          isMessage = this.#command(socket, piece);
        }
      }
    });
  }

  /** Answers a command; true when a message follows. */
  #command(socket: Socket, line: string): boolean {
    this.commands.push(line);
    const verb = line.split(' ', 1)[0]?.toUpperCase() ?? '';
    if (verb === 'EHLO' || verb === 'HELO') {
      this.#answer(socket, 'EHLO', '250-mail.farm.example\r\n250-AUTH PLAIN\r\n250-8BITMIME\r\n250 SMTPUTF8');
    } else if (verb === 'AUTH') this.#answer(socket, 'AUTH', '235 2.7.0 welcome');
    else if (verb === 'MAIL') this.#answer(socket, 'MAIL', '250 2.1.0 ok');
    else if (verb === 'RCPT') this.#answer(socket, 'RCPT', '250 2.1.5 ok');
    else if (verb === 'DATA') return this.#answer(socket, 'DATA', '354 go ahead').startsWith('354');
    else if (verb === 'QUIT') socket.end('221 2.0.0 bye\r\n');
    else socket.write('502 5.5.2 what?\r\n');
    return false;
  }

  #answer(socket: Socket, moment: Moment, usual: string): string {
    const reply = this.#replies.get(moment) ?? usual;
    if (reply === 'cut') socket.destroy();
    else if (reply !== 'silence') socket.write(`${reply}\r\n`);
    return reply;
  }
}
