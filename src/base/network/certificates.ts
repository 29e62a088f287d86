// The TLS certificate and key, and by which authorities and revocation lists clients' certificates are judged: loaded at
// start, and again on SIGHUP and when the files change, for all TLS servers, without cutting a connection. What is invalid
// or half-written is logged, and all that was before stays in use. Created by server.ts. The files are polled, because
// change notifications are unreliable on many file systems.
import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions, Server as TlsServer } from 'node:tls';
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities that clients' certificates are of; undefined: clients are asked for none. */
  readonly clientCaFile?: string | undefined;
  /** What those have revoked; undefined: nothing. */
  readonly clientCrlFile?: string | undefined;
}

/** The settings that name these files; an empty text: none. */
export interface CertificateSettings {
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly mqttClientCa: string;
  readonly mqttClientCrl: string;
}

/** What the files say. */
interface Loaded {
  readonly options: SecureContextOptions;
  /** For servers that ask clients for certificates. */
  readonly clientOptions: SecureContextOptions;
}

/** A server, and whether it asks clients for certificates. */
interface KeptServer {
  readonly server: TlsServer;
  readonly asksClients: boolean;
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

/**
 * A client's certificate is judged in a whole handshake, and once: one that is resumed or made anew on the same connection
 * would bring another, or one that has been revoked since.
 */
const judgedOnce = { secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION };

export class Certificates {
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #servers: KeptServer[] = [];
  #loaded: Loaded;
  #onClientsChange: () => void = () => {};
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
    const { certFile, keyFile, clientCaFile, clientCrlFile } = parts.files;
    const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file));
    this.#loaded = load(readFileSync(certFile), readFileSync(keyFile), read(clientCaFile), read(clientCrlFile));
  }

  /** Returns undefined where no certificate is set. @throws Error when the certificate cannot be used. */
  static open(
    { tlsCert, tlsKey, mqttClientCa, mqttClientCrl }: CertificateSettings,
    parts: { readonly clock: Clock; readonly log: Log },
  ): Certificates | undefined {
    if (tlsCert === '') return undefined;
    const files = { certFile: tlsCert, keyFile: tlsKey };
    const ofClients = { clientCaFile: mqttClientCa || undefined, clientCrlFile: mqttClientCrl || undefined };
    return new Certificates({ ...parts, files: { ...files, ...ofClients } });
  }

  /** The options to create a TLS server with. */
  get options(): SecureContextOptions {
    return this.#loaded.options;
  }

  /** The same for a server that asks clients for certificates, where authorities for these are set. */
  get clientOptions(): SecureContextOptions {
    return this.#loaded.clientOptions;
  }

  /** Gives the server the present certificate and every later one. */
  keepFresh(server: TlsServer, { asksClients = false } = {}): void {
    this.#servers.push({ server, asksClients });
    // The server may have been created with an earlier certificate.
    server.setSecureContext(asksClients ? this.clientOptions : this.options);
  }

  /**
   * Polls the files from now on, and updates these servers where they use TLS.
   * @param onClientsChange called when clients' certificates are judged by other files than before.
   */
  async start(
    servers: { readonly plain: unknown; readonly askingClients: unknown },
    onClientsChange: () => void,
  ): Promise<void> {
    const { plain, askingClients } = servers;
    if (plain instanceof TlsServer) this.keepFresh(plain);
    if (askingClients instanceof TlsServer) this.keepFresh(askingClients, { asksClients: true });
    this.#onClientsChange = onClientsChange;
    this.#seen = await this.#look();
    this.#plan();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  /** Reads the files now, whether or not they have changed. */
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
    const { certFile, keyFile, clientCaFile, clientCrlFile } = this.#files;
    const files = [certFile, keyFile, clientCaFile, clientCrlFile].filter((file) => file !== undefined);
    const looks = files.map((file) =>
      stat(file).then(
        ({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`,
        (error: NodeJS.ErrnoException) => error.code ?? 'none',
      ),
    );
    return (await Promise.all(looks)).join(', ');
  }

  async #read(): Promise<void> {
    const { certFile, keyFile, clientCaFile, clientCrlFile } = this.#files;
    // Before reading: a change during the reading is then noticed and read again.
    this.#seen = await this.#look();
    this.#changed = undefined;
    try {
      const read = async (file: string | undefined) => (file === undefined ? undefined : await readFile(file));
      const pair = [await readFile(certFile), await readFile(keyFile)] as const;
      const before = this.#loaded;
      this.#loaded = load(...pair, await read(clientCaFile), await read(clientCrlFile));
      const { options, clientOptions } = this.#loaded;
      for (const { server, asksClients } of this.#servers)
        server.setSecureContext(asksClients ? clientOptions : options);
      const { validTo } = new X509Certificate(options.cert as Buffer);
      this.#log.info({ certFile, validTo }, 'the TLS certificate was read anew');
      if (judgement(before) === judgement(this.#loaded)) return;
      this.#log.info({ clientCaFile, clientCrlFile }, 'clients’ certificates are judged by other files from now on');
      this.#onClientsChange();
    } catch (error) {
      const reason = (error as Error).message;
      const files = { certFile, keyFile, clientCaFile, clientCrlFile };
      this.#log.error({ ...files, reason }, 'the TLS certificate cannot be used; the one before stays');
    }
  }
}

/** By what clients' certificates are judged, as one text. */
function judgement({ clientOptions: { ca, crl } }: Loaded): string {
  return [ca, crl].flat().join('\n');
}

/** @throws Error unless they are a certificate and its key, authorities and revocation lists. */
function load(cert: Buffer, key: Buffer, clientCa?: Buffer, clientCrl?: Buffer): Loaded {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error('the key is not that of the certificate');
  const options = { ...secure, cert, key };
  createSecureContext(options);
  if (clientCa === undefined) return { options, clientOptions: options };
  const crl = clientCrl === undefined ? {} : { crl: revocationListsOf(clientCrl) };
  const clientOptions = { ...options, ...judgedOnce, ca: authoritiesOf(clientCa), ...crl };
  createSecureContext(clientOptions);
  return { options, clientOptions };
}

/** The certificates of a file in PEM form. @throws Error where there is none: Node.js would trust every public authority. */
export function authoritiesOf(pem: Buffer): string[] {
  const authorities = blocksOf(pem, 'CERTIFICATE');
  for (const authority of authorities) {
    if (!new X509Certificate(authority).ca) throw new Error('one of the certificates is no authority’s');
  }
  return authorities;
}

/** The revocation lists of a file in PEM form; Node.js would read the first alone. @throws Error where there is none. */
export function revocationListsOf(pem: Buffer): string[] {
  const lists = blocksOf(pem, 'X509 CRL');
  createSecureContext({ crl: lists });
  return lists;
}

function blocksOf(pem: Buffer, what: 'CERTIFICATE' | 'X509 CRL'): string[] {
  const [begin, end] = [`-----BEGIN ${what}-----`, `-----END ${what}-----`];
  const blocks = pem
    .toString('latin1')
    .split(begin)
    .slice(1)
    .filter((rest) => rest.includes(end))
    .map((rest) => begin + rest.slice(0, rest.indexOf(end)) + end);
  if (blocks.length === 0) throw new Error(`there is no ${what} in it`);
  return blocks;
}
