// Sends e-mail by SMTP, through nodemailer. One message, one recipient, plain text. The Message-ID is derived from the
// message's id, so that mail programs recognise repeats.
import { getSystemErrorName } from 'node:util';
import type { Transporter } from 'nodemailer';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { Attempt, noAddress, outcomeOfError, shortened } from './send-outcome.ts';

export interface EmailOptions {
  /** `smtp://` or `smtps://`, with name and password where the server needs them. */
  readonly url: string;
  /** The sender's address, optionally with a name. */
  readonly from: string;
}

const provider = 'the mail server';

export class EmailSender implements Sender {
  readonly channel = 'email';
  readonly perSMax = limits.emailPerSMax;
  readonly #options: EmailOptions;
  readonly #msMax: number;
  #transport: Promise<Transporter> | undefined;

  constructor(options: EmailOptions, { msMax }: { readonly msMax: number }) {
    this.#options = options;
    this.#msMax = msMax;
  }

  async send(message: OutgoingMessage, stopped: AbortSignal): Promise<SendOutcome> {
    const { email } = message.to;
    if (email === undefined) return noAddress(message, 'e-mail address');
    // A list, or a name containing an address, would reach other people.
    if (!/^[^\s@,;:<>()"\\]+@[^\s@,;:<>()"\\]+$/.test(email))
      return noAddress(message, 'e-mail address that is one, such as awa@farm.example');
    const attempt = new Attempt(stopped, this.#msMax);
    try {
      this.#transport ??= this.#connect();
      const transport = await this.#transport;
      await transport.sendMail({ ...this.#mail(message), to: { name: '', address: email }, signal: attempt.signal });
      return { kind: 'sent', code: '250' };
    } catch (error) {
      return ofError(error, attempt);
    }
  }

  #mail({ id, text }: OutgoingMessage) {
    const { from } = this.#options;
    const domain = /@([^\s@>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
    const [first = ''] = text.split(/\r?\n/, 1);
    return {
      from,
      subject: shortened(first, limits.subjectCharsMax),
      text,
      messageId: `<${id}@${domain}>`,
      // Tells automatic responders not to answer (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
    };
  }

  async #connect(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url: this.#options.url,
      connectionTimeout: this.#msMax,
      greetingTimeout: this.#msMax,
      socketTimeout: this.#msMax,
      dnsTimeout: this.#msMax,
      maxResponseSize: limits.providerAnswerBytesMax,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

function ofError(error: unknown, attempt: Attempt): SendOutcome {
  const { code, responseCode, errno } = error as NodeJS.ErrnoException & { readonly responseCode?: number };
  if (responseCode === undefined) {
    // nodemailer replaces the system's error code by its own, and keeps the number.
    const cause = typeof errno === 'number' ? { code: getSystemErrorName(errno) } : error;
    return outcomeOfError(provider, cause, attempt);
  }
  const reply = String(responseCode);
  // 4yz is temporary, 5yz permanent (RFC 5321 4.2.1).
  if (responseCode < 500)
    return { kind: 'retry', reason: `${provider} asks to try again later (${reply})`, code: reply };
  if (code === 'EAUTH')
    return { kind: 'failed', reason: `${provider} refuses the credentials of this service`, code: reply };
  if (code === 'EENVELOPE')
    return { kind: 'failed', reason: `${provider} refuses the address (${reply})`, code: reply };
  return { kind: 'failed', reason: `${provider} refuses the message (${reply})`, code: reply };
}
