// The TLS certificate and key: loaded at start, and again on SIGHUP and when the files change, for all TLS servers,
// without cutting a connection. An invalid or half-written pair is logged, and the previous one stays in use. Created
// by server.ts. The files are polled, because change notifications are unreliable on many file systems.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions, Server as TlsServer } from 'node:tls';
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** TLS 1.2 and 1.3 with ephemeral keys (ECDHE) and authenticated encryption (AEAD). */
const secure: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ].join(':'),
};

export class Certificates {
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #servers: TlsServer[] = [];
  #options: SecureContextOptions;
  /** State of the files when they were last read, as `#look` describes it. */
  #seen = '';
  /** A newer state of the files, and since when they have had it. */
  #changed: { readonly look: string; readonly sinceMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #isClosed = false;

  /** @throws Error when the files are not a certificate and its key. */
  constructor(parts: { readonly files: CertificateFiles; readonly clock: Clock; readonly log: Log }) {
    this.#files = parts.files;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#options = optionsOf(readFileSync(parts.files.certFile), readFileSync(parts.files.keyFile));
  }

  /** Returns undefined where no certificate is set. @throws Error when the certificate cannot be used. */
  static open(
    { tlsCert, tlsKey }: { readonly tlsCert: string; readonly tlsKey: string },
    parts: { readonly clock: Clock; readonly log: Log },
  ): Certificates | undefined {
    return tlsCert === '' ? undefined : new Certificates({ ...parts, files: { certFile: tlsCert, keyFile: tlsKey } });
  }

  /** The options to create a TLS server with. */
  get options(): SecureContextOptions {
    return this.#options;
  }

  /** Gives the server the present certificate and every later one. */
  keepFresh(server: TlsServer): void {
    this.#servers.push(server);
    // The server may have been created with an earlier certificate.
    server.setSecureContext(this.#options);
  }

  /** Polls the files from now on, and updates these servers where they use TLS. */
  async start(servers: readonly unknown[]): Promise<void> {
    for (const server of servers) if (server instanceof TlsServer) this.keepFresh(server);
    this.#seen = await this.#look();
    this.#plan();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  /** Reads both files now, whether or not they have changed. */
  reload(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const reading = (this.#reading ?? Promise.resolve()).then(() => this.#read());
    this.#reading = reading;
    return reading;
  }

  /** Reads changed files once they have stayed unchanged for a moment, so that they are complete. */
  async look(): Promise<void> {
    const look = await this.#look();
    const nowMs = this.#clock.elapsedMs();
    if (look === this.#seen) this.#changed = undefined;
    else if (this.#changed?.look !== look) this.#changed = { look, sinceMs: nowMs };
    else if (nowMs - this.#changed.sinceMs >= limits.certificateSettleMs) await this.reload();
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      void this.look().finally(() => this.#plan());
    }, limits.certificateLookMs);
    this.#timer.unref();
  }

  /** A text that changes whenever a file does, also when a symbolic link points elsewhere. */
  async #look(): Promise<string> {
    const { certFile, keyFile } = this.#files;
    const looks = [certFile, keyFile].map((file) =>
      stat(file).then(
        ({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`,
        (error: NodeJS.ErrnoException) => error.code ?? 'none',
      ),
    );
    return (await Promise.all(looks)).join(', ');
  }

  async #read(): Promise<void> {
    const { certFile, keyFile } = this.#files;
    // Before reading: a change during the reading is then noticed and read again.
    this.#seen = await this.#look();
    this.#changed = undefined;
    try {
      const options = optionsOf(await readFile(certFile), await readFile(keyFile));
      for (const server of this.#servers) server.setSecureContext(options);
      this.#options = options;
      const { validTo } = new X509Certificate(options.cert as Buffer);
      this.#log.info({ certFile, validTo }, 'the TLS certificate was read anew');
    } catch (error) {
      const reason = (error as Error).message;
      this.#log.error({ certFile, keyFile, reason }, 'the TLS certificate cannot be used; the one before stays');
    }
  }
}

/** @throws Error unless they are a certificate and its key. */
function optionsOf(cert: Buffer, key: Buffer): SecureContextOptions {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
  const options = { ...secure, cert, key };
  createSecureContext(options);
  return options;
}
