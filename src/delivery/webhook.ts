// Posts messages to an address of the recipient, signed by Standard Webhooks (standardwebhooks.com): receivers
// recognise repeats by the id, old messages by the timestamp, forgeries by the signature. The address comes from a
// user, so it is checked (address-guard.ts), redirects are not followed, and size and time of the answer are bounded.
import { createHmac } from 'node:crypto';
import { type Agent, Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../base/time/clock.ts';
import { formatTimestamp } from '../base/time/timestamp.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { parseWebhookAddress } from '../domain/users/webhook-address.ts';
import type { WebhookKeys } from '../domain/users/webhook-keys.ts';
import { AddressGuard, closedCode, type OwnPorts, type Resolve } from './address-guard.ts';
import { type ProviderResponse, post } from './post.ts';
import {
  type AddressOutcome,
  Attempt,
  outcomeOfError,
  outcomeOfStatus,
  retryAfterOf,
  toFirstReachable,
} from './send-outcome.ts';

export interface WebhookOptions {
  readonly keys: WebhookKeys;
  /** Networks that are allowed although they are not on the public internet. */
  readonly networks: readonly string[];
  /** The ports that this service listens on, which webhooks must not reach. */
  readonly ownPorts?: OwnPorts;
  /** The public address of this service, which webhooks must not reach either. */
  readonly baseUrl?: string;
  /** Resolves names; by default the system does. */
  readonly resolve?: Resolve;
}

const provider = 'the webhook';

export class WebhookSender implements Sender {
  readonly channel = 'webhook';
  readonly perSMax = limits.webhookPerSMax;
  readonly #keys: WebhookKeys;
  readonly #addressGuard: AddressGuard;
  readonly #ownHost: string | undefined;
  readonly #clock: Clock;
  readonly #msMax: number;
  // Own agents, because kept connections of other agents were opened without the check of addresses.
  readonly #agents: { readonly 'http:': Agent; readonly 'https:': Agent };

  constructor(options: WebhookOptions, { clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#keys = options.keys;
    this.#addressGuard = new AddressGuard(options.networks, options);
    this.#ownHost = options.baseUrl ? hostOf(new URL(options.baseUrl)) : undefined;
    this.#clock = clock;
    this.#msMax = msMax;
    const kept = {
      keepAlive: true,
      timeout: limits.providerKeptMs,
      maxSockets: limits.providerConnectionsMax,
      maxFreeSockets: limits.providerConnectionsMax,
      maxTotalSockets: limits.webhookConnectionsMax,
    };
    this.#agents = { 'http:': new PlainAgent(kept), 'https:': new TlsAgent(kept) };
  }

  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const given = { addresses: message.to.webhook, what: 'webhook address' };
    return toFirstReachable(message, given, (address) => this.#sendTo(address, message, signal));
  }

  async #sendTo(address: string, message: OutgoingMessage, stopped: AbortSignal): Promise<AddressOutcome> {
    const url = parseWebhookAddress(address);
    if (url === undefined)
      return { kind: 'failed', reason: 'the webhook address is none', code: 'address', tryNext: true };
    // Names are checked when they are resolved, literal addresses here.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    if (hostOf(url) === this.#ownHost) return own;
    if (isIP(host) !== 0 && !this.#addressGuard.permits(host, port)) return closed;
    const attempt = new Attempt(stopped, this.#msMax);
    try {
      const answer = await post(url, {
        ...this.#signed(message),
        signal: attempt.signal,
        lookup: this.#addressGuard.lookupFor(port),
        agent: this.#agents[url.protocol as 'http:'],
      });
      return this.#outcome(answer);
    } catch (error) {
      return (error as { readonly code?: string }).code === closedCode
        ? closed
        : outcomeOfError(provider, error, attempt);
    }
  }

  #signed({ id, to, text, occasion }: OutgoingMessage) {
    const nowMs = this.#clock.now();
    const timestamp = String(Math.floor(nowMs / 1000));
    // The first two are what receivers have always got; what the message is about follows them.
    const about = occasion === undefined ? {} : (JSON.parse(occasion) as object);
    const data = { username: to.username, message: text, ...about };
    const body = JSON.stringify({ type: 'notification', timestamp: formatTimestamp(nowMs), data });
    // One signature for each valid key, as Standard Webhooks specifies for rotation.
    const signatures = this.#keys.goodAt(to, nowMs).map((key) => {
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    });
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Dundun',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
      'idempotency-key': id,
    };
    return { headers, body };
  }

  #outcome({ status, headers }: ProviderResponse): AddressOutcome {
    const code = String(status);
    if (status >= 200 && status < 300) return { kind: 'sent', code };
    if (status < 400 || status === 408 || status === 425 || status === 429 || status >= 500) {
      return outcomeOfStatus(provider, { status, retryAfterS: retryAfterOf(headers, this.#clock) });
    }
    return { kind: 'failed', reason: `${provider} refuses the message (${code})`, code, tryNext: true };
  }
}

/** Host and port. A dot at the end of a DNS name is dropped, because the name means the same without it. */
function hostOf({ hostname, port }: URL): string {
  return `${hostname.replace(/\.$/, '')}:${port}`;
}

const closed: AddressOutcome = {
  kind: 'failed',
  reason: 'the webhook address leads into a private network (DUNDUN_WEBHOOK_NETWORKS)',
  code: 'private',
  tryNext: true,
};

const own: AddressOutcome = { ...closed, reason: 'the webhook address leads to this service itself' };
