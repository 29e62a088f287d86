// Determines the address of a client behind proxies (DUNDUN_TRUST_PROXY). Called for every HTTP request and MQTT
// connection that a proxy may have passed on; rate limits and shares use the result. Clients cannot choose their
// address: an entry of X-Forwarded-For counts only if a trusted proxy wrote it.
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';
import { limits } from '../../config/limits.ts';

export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** @param networks addresses, or networks such as 10.0.0.0/8. */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const network of networks) this.#add(network);
  }

  /** True where no proxy is trusted: the client is always the peer. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Whether this is the address of a trusted proxy. */
  trusts(address: string | undefined): boolean {
    if (this.#isEmpty || address === undefined) return false;
    const plain = plainAddress(address);
    return plain !== undefined && this.#list.check(plain, familyOf(plain));
  }

  /**
   * The client's address. If the peer is a trusted proxy: the last entry of X-Forwarded-For that is not a trusted
   * proxy; otherwise the peer. An invalid entry ends the search, because entries before it cannot be trusted; then
   * the proxy that passed the invalid entry on counts as the client.
   */
  clientOf(peer: string | undefined, forwardedFor: string | undefined): string {
    let client = peer === undefined ? '' : (plainAddress(peer) ?? peer);
    if (this.#isEmpty || forwardedFor === undefined || !this.trusts(client)) return client;
    let end = forwardedFor.length;
    for (let hops = 0; end > 0 && hops < limits.forwardedHopsMax; hops++) {
      const start = forwardedFor.lastIndexOf(',', end - 1) + 1;
      const entry = forwardedFor.slice(start, end).trim();
      end = start - 1;
      // Lists may contain empty elements (RFC 9110 section 5.6.1).
      if (entry === '') continue;
      const address = plainAddress(withoutPort(entry));
      if (address === undefined) return client;
      client = address;
      if (!this.trusts(address)) return client;
    }
    return client;
  }

  /** The address of the client that sent an HTTP request. */
  clientOfRequest({ socket, headers }: IncomingMessage): string {
    // Node.js joins several headers of this name in order, with commas.
    return this.clientOf(socket.remoteAddress, headers['x-forwarded-for'] as string | undefined);
  }

  #add(network: string): void {
    const [text = '', prefix] = network.split('/');
    const address = plainAddress(text) ?? text;
    if (prefix === undefined) {
      this.#list.addAddress(address, familyOf(address));
      return;
    }
    // A network of mapped addresses (::ffff:10.0.0.0/104) is a network of IPv4.
    const isMapped = isIP(text) === 6 && isIP(address) === 4;
    if (isMapped && Number(prefix) < mappedBits) this.#list.addSubnet(text, Number(prefix), 'ipv6');
    else this.#list.addSubnet(address, Number(prefix) - (isMapped ? mappedBits : 0), familyOf(address));
  }
}

/** Bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const mappedBits = 96;

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/**
 * The address in canonical form: an IPv4 address mapped into IPv6 becomes IPv4, and a zone is dropped. Undefined: the
 * text is not an address.
 */
function plainAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version !== 6) return version === 4 ? text : undefined;
  const zoneAt = text.indexOf('%');
  const { address } = new SocketAddress({ address: zoneAt < 0 ? text : text.slice(0, zoneAt), family: 'ipv6' });
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIP(mapped) === 4 ? mapped : address;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.startsWith('[')) {
    const close = entry.indexOf(']');
    return close > 0 && isPort(entry.slice(close + 1)) ? entry.slice(1, close) : entry;
  }
  const colon = entry.indexOf(':');
  const isOnly = colon >= 0 && colon === entry.lastIndexOf(':');
  return isOnly && isPort(entry.slice(colon)) ? entry.slice(0, colon) : entry;
}

function isPort(text: string): boolean {
  return text === '' || /^:\d{1,5}$/.test(text);
}
