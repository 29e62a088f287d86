// An authority for tests: signs certificates and revocation lists as X.509 says (RFC 5280), with what no tool would put
// into them. Keys are on P-256; times are those of the machine, by which TLS judges.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

const dayMs = 86_400_000;

export interface Pair {
  /** In PEM form. */
  readonly cert: string;
  readonly key: string;
  readonly serial: number;
}

/** What is unusual about a certificate. */
export interface Odd {
  /** When it is good no more, in milliseconds from now; thirty days by default. */
  readonly endsInMs?: number;
  /** Further common names. */
  readonly more?: readonly string[];
  readonly isAuthority?: boolean;
}

export class Authority {
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;
  #serials = 1;

  constructor(name: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#name = name;
    this.#key = privateKey;
    this.cert = this.#certify([name], publicKey, { serial: 1, endsInMs: 3_650 * dayMs, isAuthority: true });
  }

  /** The certificate of the authority, for who brings that. */
  get own(): Pair {
    return { cert: this.cert, key: this.#key.export({ type: 'pkcs8', format: 'pem' }).toString(), serial: 1 };
  }

  /** A certificate of this common name, with its key. */
  issue(commonName: string, { more = [], endsInMs = 30 * dayMs, isAuthority = false }: Odd = {}): Pair {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#serials += 1;
    const options = { serial: this.#serials, endsInMs, isAuthority };
    const cert = this.#certify([commonName, ...more], createPublicKey(privateKey), options);
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), serial: this.#serials };
  }

  /** A list of what is revoked. @param endsInMs when the next one is due, from now. */
  revocationList(serials: readonly number[], { endsInMs = 30 * dayMs } = {}): string {
    const revoked = serials.map((serial) => der(0x30, integer(serial), timeIn(-dayMs)));
    const body = der(
      0x30,
      integer(1),
      ecdsaSha256,
      nameOf([this.#name]),
      timeIn(-dayMs),
      timeIn(endsInMs),
      ...(revoked.length === 0 ? [] : [der(0x30, ...revoked)]),
    );
    return this.#signed(body, 'X509 CRL');
  }

  #certify(
    names: readonly string[],
    publicKey: KeyObject,
    {
      serial,
      endsInMs,
      isAuthority,
    }: { readonly serial: number; readonly endsInMs: number; readonly isAuthority: boolean },
  ): string {
    const constraints = der(
      0x30,
      oid('551d13'),
      der(0x01, [0xff]),
      der(0x04, der(0x30, ...(isAuthority ? [der(0x01, [0xff])] : []))),
    );
    const body = der(
      0x30,
      der(0xa0, integer(2)),
      integer(serial),
      ecdsaSha256,
      nameOf([this.#name]),
      der(0x30, timeIn(-30 * dayMs), timeIn(endsInMs)),
      nameOf(names),
      publicKey.export({ type: 'spki', format: 'der' }),
      der(0xa3, der(0x30, constraints)),
    );
    return this.#signed(body, 'CERTIFICATE');
  }

  #signed(body: Buffer, what: string): string {
    const signature = der(0x03, [0], sign('sha256', body, this.#key));
    const base64 = der(0x30, body, ecdsaSha256, signature).toString('base64');
    const lines = base64.match(/.{1,64}/g) ?? [];
    return `-----BEGIN ${what}-----\n${lines.join('\n')}\n-----END ${what}-----\n`;
  }
}

/** A value of DER: its tag, its length, its parts. */
function der(tag: number, ...parts: readonly (Buffer | readonly number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as Buffer)));
  const lengthBytes: number[] = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 256)) lengthBytes.unshift(left % 256);
  const length = body.length < 0x80 ? [body.length] : [0x80 | lengthBytes.length, ...lengthBytes];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

/** A whole number from 0, in as few bytes as its sign bit allows. */
function integer(value: number): Buffer {
  const bytes = [value & 255];
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 256)) bytes.unshift(Math.floor(rest / 256) & 255);
  return der(0x02, bytes);
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

const ecdsaSha256 = der(0x30, oid('2a8648ce3d040302'));

/** A name of common names, as UTF8String. */
function nameOf(names: readonly string[]): Buffer {
  return der(0x30, ...names.map((name) => der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from(name))))));
}

/** UTCTime. */
function timeIn(ms: number): Buffer {
  const text = new Date(Date.now() + ms)
    .toISOString()
    .replace(/[-:T]|\.\d+/g, '')
    .slice(2);
  return der(0x17, Buffer.from(text));
}
