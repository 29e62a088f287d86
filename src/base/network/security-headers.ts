// The headers for browsers that every HTTP answer has, whoever writes it: browsers must not guess content types, and
// with DUNDUN_HSTS a browser that came by HTTPS must not come by anything else (RFC 6797). Node.js's servers get them
// by `addTo`; framing.ts, the fast path and MQTT over WebSocket, which write their heads as text, use `of`.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { TrustedProxies } from './trusted-proxies.ts';

/** The headers of one answer: as pairs, and as lines of text for a head. */
export interface SecurityHeaderSet {
  readonly pairs: readonly (readonly [string, string])[];
  /** All lines, each ending with CRLF. */
  readonly lines: string;
}

export class SecurityHeaders {
  readonly #usual = setOf([['x-content-type-options', 'nosniff']]);
  /** For answers by HTTPS; the same as the usual ones where DUNDUN_HSTS is off. */
  readonly #byTls: SecurityHeaderSet;
  readonly #proxies: TrustedProxies;

  /** @param parts.hstsS seconds of HSTS; undefined: no such header. */
  constructor({ hstsS, proxies }: { readonly hstsS: number | undefined; readonly proxies: TrustedProxies }) {
    this.#proxies = proxies;
    const hsts = ['strict-transport-security', `max-age=${hstsS}`] as const;
    this.#byTls = hstsS === undefined ? this.#usual : setOf([...this.#usual.pairs, hsts]);
  }

  /**
   * The headers of an answer on this connection.
   * @param forwardedProto X-Forwarded-Proto of the request, used only where the peer is a trusted proxy.
   */
  of(socket: Duplex, forwardedProto: string | undefined): SecurityHeaderSet {
    if (this.#byTls === this.#usual) return this.#usual;
    return this.#isHttps(socket as TLSSocket, forwardedProto) ? this.#byTls : this.#usual;
  }

  ofRequest({ socket, headers }: IncomingMessage): SecurityHeaderSet {
    // Node.js joins several headers of this name in order, with commas.
    return this.of(socket, headers['x-forwarded-proto'] as string | undefined);
  }

  /** Sets these headers on each answer of a server before any other listener sees the request. */
  addTo(server: Server): void {
    for (const event of ['request', 'checkExpectation'] as const) {
      server.prependListener(event, (request, response) => {
        for (const [name, value] of this.ofRequest(request).pairs) response.setHeader(name, value);
      });
    }
  }

  #isHttps({ encrypted, remoteAddress }: Partial<TLSSocket>, forwardedProto: string | undefined): boolean {
    // The last entry is the one that the trusted proxy wrote itself.
    if (forwardedProto && this.#proxies.trusts(remoteAddress)) return /(^|,)\s*https\s*$/.test(forwardedProto);
    return encrypted === true;
  }
}

function setOf(pairs: SecurityHeaderSet['pairs']): SecurityHeaderSet {
  return { pairs, lines: pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('') };
}
