// The mails that the service has sent to a mail server of a test, read as their recipients read them.
import assert from 'node:assert/strict';
import type { TestServer } from '../test-server.ts';
import { MailServer } from './mail-server.ts';

export const baseUrl = 'https://dundun.example';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The link in it, if it has one; and the secret behind its `#`. */
  readonly link: string | undefined;
  readonly secret: string;
}

export class Mailbox {
  readonly server: MailServer;
  #taken = 0;

  private constructor(server: MailServer) {
    this.server = server;
  }

  static async open(): Promise<Mailbox> {
    return new Mailbox(await MailServer.start());
  }

  /** What a service needs to mail links through it. */
  get settings() {
    return { DUNDUN_SMTP_URL: `smtp://127.0.0.1:${this.server.port}`, DUNDUN_SMTP_FROM: 'dundun@farm.example', DUNDUN_BASE_URL: baseUrl }; // biome-ignore format: one line
  }

  /** The mails since the last call, once the server has sent what it was to send; its clock goes on for some seconds. */
  async take(server: TestServer): Promise<Mail[]> {
    for (let before = -1; before < this.server.messages.length; ) {
      before = this.server.messages.length;
      // As many may be sent in a second as the channel takes.
      server.clock.advance(1_000);
      await server.running.idle();
    }
    const mails = this.server.messages.slice(this.#taken).map(parseMail);
    this.#taken = this.server.messages.length;
    return mails;
  }

  /** The one mail that came since the last call. */
  async takeOne(server: TestServer): Promise<Mail> {
    const [mail, ...others] = await this.take(server);
    assert.ok(mail !== undefined, 'a mail came');
    assert.deepEqual(others, []);
    return mail;
  }
}

/** A message as its recipient reads it. */
export function parseMail(message: string): Mail {
  const [head = '', ...rest] = message.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? '';
  const encoding = field('Content-Transfer-Encoding').toLowerCase();
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString('utf8')
      : encoding === 'quoted-printable'
        ? fromQuotedPrintable(body)
        : body;
  const link = /https?:\/\/\S+#\S+/.exec(text)?.[0];
  return { to: field('To'), subject: field('Subject'), text, link, secret: link?.split('#')[1] ?? '' };
}

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Gives the user an address, and has it confirmed as people do. */
export async function confirmEmail(
  server: TestServer,
  mailbox: Mailbox,
  { as, email, password }: { readonly as: string; readonly email: string; readonly password: string },
): Promise<void> {
  const { body: me } = await server.call(as, 'GET', '/users/me');
  const put = await server.call(as, 'PUT', `/users/${me.id}/email`, { json: { current: password, email } });
  assert.equal(put.status, 204, put.text);
  await mailbox.take(server);
  const asked = await server.call(as, 'POST', `/users/${me.id}/email/confirmation`);
  assert.equal(asked.status, 202, asked.text);
  const { secret } = await mailbox.takeOne(server);
  const confirmed = await server.call('guest', 'POST', '/auth/email-confirmation', { json: { secret } });
  assert.equal(confirmed.status, 204, confirmed.text);
}
