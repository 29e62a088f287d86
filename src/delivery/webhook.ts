// Messages posted to an address of the recipient's own, signed as Standard Webhooks says (standardwebhooks.com): the id
// tells repeats, the timestamp old ones, the signature forgeries. The address is a stranger's word, so where it leads is
// checked (reachable.ts), redirects are not followed, and neither answer nor time is unbounded.
import { createHmac } from 'node:crypto';
import { type Agent, Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import { limits } from '../config/limits.ts';
import type { Delivery, OutgoingMessage, Sender } from '../domain/notifications/sender.ts';
import { parseWebhookAddress } from '../domain/users/webhook-address.ts';
import type { WebhookKeys } from '../domain/users/webhook-keys.ts';
import { Attempt, noAddress, type Outcome, ofStatus, ofTrouble, retryAfterOf, toFirstReachable } from './outcome.ts';
import { type Answer, post } from './post.ts';
import { closedCode, Reachable, type Resolve } from './reachable.ts';

export interface WebhookOptions {
  readonly keys: WebhookKeys;
  /** Networks that may be reached although they are none of the internet. */
  readonly networks: readonly string[];
  /** Looks names up; the system does where it is left out. */
  readonly resolve?: Resolve;
}

const provider = 'the webhook';

export class WebhookSender implements Sender {
  readonly channel = 'webhook';
  readonly perSMax = limits.webhookPerSMax;
  readonly #keys: WebhookKeys;
  readonly #reachable: Reachable;
  readonly #clock: Clock;
  readonly #msMax: number;
  // Of its own: a connection that somebody else opened was not checked.
  readonly #agents: { readonly 'http:': Agent; readonly 'https:': Agent };

  constructor(options: WebhookOptions, { clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#keys = options.keys;
    this.#reachable = new Reachable(options.networks, options.resolve);
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

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Delivery> {
    const addresses = message.to.webhook ?? [];
    if (addresses.length === 0) return noAddress(message, 'webhook address');
    return toFirstReachable(addresses, (address) => this.#sendTo(address, message, signal));
  }

  async #sendTo(address: string, message: OutgoingMessage, stopped: AbortSignal): Promise<Outcome> {
    const url = parseWebhookAddress(address);
    if (url === undefined)
      return { kind: 'failed', reason: 'the webhook address is none', code: 'address', tryNext: true };
    // Names are checked when they are looked up, which numbers are not.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.#reachable.permits(host)) return closed;
    const attempt = new Attempt(stopped, this.#msMax);
    try {
      const answer = await post(url, {
        ...this.#signed(message),
        signal: attempt.signal,
        lookup: this.#reachable.lookup,
        agent: this.#agents[url.protocol as 'http:'],
      });
      return this.#outcome(answer);
    } catch (error) {
      return (error as { readonly code?: string }).code === closedCode ? closed : ofTrouble(provider, error, attempt);
    }
  }

  #signed({ id, to, text }: OutgoingMessage) {
    const nowMs = this.#clock.now();
    const timestamp = String(Math.floor(nowMs / 1000));
    const data = { username: to.username, message: text };
    const body = JSON.stringify({ type: 'notification', timestamp: formatTimestamp(nowMs), data });
    const signature = createHmac('sha256', this.#keys.of(to.username))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64');
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Dundun',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
      'idempotency-key': id,
    };
    return { headers, body };
  }

  #outcome({ status, headers }: Answer): Outcome {
    const code = String(status);
    if (status >= 200 && status < 300) return { kind: 'sent', code };
    if (status < 400 || status === 408 || status === 425 || status === 429 || status >= 500) {
      return ofStatus(provider, { status, retryAfterS: retryAfterOf(headers, this.#clock) });
    }
    return { kind: 'failed', reason: `${provider} refuses the message (${code})`, code, tryNext: true };
  }
}

const closed: Outcome = {
  kind: 'failed',
  reason: 'the webhook address leads into a private network (DUNDUN_WEBHOOK_NETWORKS)',
  code: 'private',
  tryNext: true,
};
