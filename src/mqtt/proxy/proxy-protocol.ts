// Parses the header of the PROXY protocol (haproxy.org/download/2.9/doc/proxy-protocol.txt), versions 1 and 2, by which
// a proxy names the client of a connection. Called by proxied-sockets.ts with the bytes received so far, which anybody
// may have written: whatever deviates from the specification is `bad`.
import { isIPv4, isIPv6 } from 'node:net';
import { limits } from '../../config/limits.ts';

export interface ProxyHeader {
  /** Length of the header in bytes; the client's bytes follow. */
  readonly bytes: number;
  /**
   * Undefined where the header names no client: the connection is the proxy's own health check, or has no IP address.
   */
  readonly client: string | undefined;
}

/** `partial`: more bytes are needed to decide. */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'partial' | 'bad' {
  if (startsAlike(bytes, signature1)) return readText(bytes);
  return startsAlike(bytes, signature2) ? readBinary(bytes) : 'bad';
}

const signature1 = Buffer.from('PROXY ');
const signature2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** True where the bytes begin with the signature, or are a prefix of it. */
function startsAlike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
}

/** Bytes of the longest header of version 1, including CRLF. */
const textBytesMax = 107;

/** Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 4711 1883` and CRLF. */
function readText(bytes: Buffer): ProxyHeader | 'partial' | 'bad' {
  const end = bytes.subarray(0, textBytesMax).indexOf('\r\n');
  if (end < 0) return bytes.length < textBytesMax ? 'partial' : 'bad';
  const words = bytes.toString('latin1', 0, end).split(' ');
  const [, family, client = '', server = '', ...ports] = words;
  // The rest of an UNKNOWN header is ignored.
  if (family === 'UNKNOWN') return { bytes: end + 2, client: undefined };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : undefined;
  if (isAddress === undefined || !isAddress(client) || !isAddress(server)) return 'bad';
  if (ports.length !== 2 || !ports.every(isPort)) return 'bad';
  return { bytes: end + 2, client };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

/**
 * Bytes of version 2 before the addresses: signature, version and command, family and transport, length of the rest.
 */
const fixedBytes = 16;
/** Bytes of both addresses and ports by family (1: IPv4, 2: IPv6, 3: UNIX). */
const addressBytes = [0, 12, 36, 216] as const;

function readBinary(bytes: Buffer): ProxyHeader | 'partial' | 'bad' {
  if (bytes.length < fixedBytes) return 'partial';
  const [version, command] = halves(bytes.readUInt8(12));
  const [family, transport] = halves(bytes.readUInt8(13));
  const length = bytes.readUInt16BE(14);
  const needed = addressBytes[family];
  if (version !== 2 || command > 1 || needed === undefined || transport > 2) return 'bad';
  if (fixedBytes + length > limits.proxyHeaderBytesMax) return 'bad';
  const isLocal = command === 0;
  if (!isLocal && length < needed) return 'bad';
  if (bytes.length < fixedBytes + length) return 'partial';
  // The rest (names, checksums, TLS) does not concern the client's address.
  const addresses = bytes.subarray(fixedBytes);
  const client = isLocal ? undefined : family === 1 ? ipv4(addresses) : family === 2 ? ipv6(addresses) : undefined;
  return { bytes: fixedBytes + length, client };
}

function halves(byte: number): readonly [high: number, low: number] {
  return [byte >> 4, byte & 15];
}

function ipv4(bytes: Buffer): string {
  return bytes.subarray(0, 4).join('.');
}

function ipv6(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16)).join(':');
}
