// Notices clients that are refused again and again: a gateway whose account was changed asks for ever, hundreds of times
// a second. Where the last calls of a user from an address were all refused (403), further ones that are refused are slowed
// down (429) with growing waits, so that the client's own backoff begins; so are logins, unless calls of that user from there
// were accepted a moment ago: a hundred gateways share an account and an address, and each fetches a token before each call.
// One call that is not refused ends it. Called by http/sign-in/refusal-loops.ts for every call with a token, and by
// gateways.ts, which shows it. Counted in each process by itself; bounded (I4).
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { UserKey } from '../users/user.ts';
import type { GatewayId, RefusedCallsSummary } from './gateway.ts';

/** Who calls: a user, or a key of the user, from an address. */
export interface CallOrigin {
  readonly user: UserKey;
  readonly username: string;
  /** Key of the caller of that address. */
  readonly address: string;
}

interface Refusals {
  readonly username: string;
  /** Calls that were judged and refused. */
  inRow: number;
  times: number;
  readonly sinceMs: number;
  lastMs: number;
  reason: string;
  /** By the monotonic clock: until when further calls are slowed down, and when the last call came. */
  slowedUntilMs: number;
  lastElapsedMs: number;
  /** The gateway that the last refused call was about. */
  gateway: GatewayId | undefined;
}

export class RefusedCalls {
  readonly #clock: Clock;
  readonly #inRowMax: number;
  readonly #origins = new LruCache<string, Refusals>({
    weightMax: limits.refusedOriginsMax,
    onDrop: (refusals) => this.#leaveGateway(refusals),
  });
  /** The origin that has been refused most often about a gateway; each is in `#origins`, too. */
  readonly #ofGateway = new Map<GatewayId, Refusals>();
  /** When a call of an origin was accepted last, by the monotonic clock. */
  readonly #accepted = new LruCache<string, number>({ weightMax: limits.refusedOriginsMax });

  /** @param parts.inRowMax refusals in a row before calls are slowed down; undefined: never. */
  constructor(parts: { readonly clock: Clock; readonly inRowMax: number | undefined }) {
    this.#clock = parts.clock;
    this.#inRowMax = parts.inRowMax ?? Number.POSITIVE_INFINITY;
  }

  /** True where nobody's last call was refused: the usual case, asked on the fast path before an origin is made. */
  get isEmpty(): boolean {
    return this.#origins.size === 0;
  }

  /**
   * Notes a call that is refused (403), and the gateway that it was about, if it was about one.
   * @returns what it is answered instead, while calls of the origin are slowed down.
   */
  refused(
    origin: CallOrigin,
    call: { readonly reason: string; readonly gateway?: GatewayId | undefined },
  ): Refusal | undefined {
    const nowMs = this.#clock.now();
    const elapsedMs = this.#clock.elapsedMs();
    const reason = call.reason.slice(0, limits.refusedReasonCharsMax);
    const refusals = this.#recent(keyOf(origin), elapsedMs) ?? this.#begin(origin, { nowMs, elapsedMs, reason });
    const slowed = this.#slowedOf(refusals, origin, elapsedMs);
    refusals.times += 1;
    Object.assign(refusals, { lastMs: nowMs, lastElapsedMs: elapsedMs, reason });
    if (call.gateway !== undefined) this.#noteGateway(refusals, call.gateway);
    if (slowed !== undefined) return slowed;
    refusals.inRow += 1;
    const beyond = refusals.inRow - this.#inRowMax;
    if (beyond >= 0) refusals.slowedUntilMs = elapsedMs + Math.min(1000 * 2 ** beyond, limits.refusedWaitMsMax);
    return undefined;
  }

  /** Notes a call that was not refused: the row ends. */
  accepted(origin: CallOrigin): void {
    const key = keyOf(origin);
    this.#accepted.set(key, this.#clock.elapsedMs());
    if (this.#origins.size > 0) this.#origins.delete(key);
  }

  /** The same of a push in the fast path, where nothing is remembered of those whose calls are not refused. */
  acceptedPush(origin: CallOrigin): void {
    if (!this.isEmpty) this.accepted(origin);
  }

  /** @throws Refusal `too-many` while logins of the origin are slowed down. */
  requireLoginNotSlowed(origin: CallOrigin): void {
    if (this.#origins.size === 0) return;
    const key = keyOf(origin);
    const elapsedMs = this.#clock.elapsedMs();
    const refusals = this.#recent(key, elapsedMs);
    const acceptedMs = this.#accepted.get(key);
    if (refusals === undefined || (acceptedMs !== undefined && elapsedMs - acceptedMs < limits.refusedLoginGraceMs))
      return;
    const slowed = this.#slowedOf(refusals, origin, elapsedMs);
    if (slowed === undefined) return;
    refusals.times += 1;
    refusals.lastMs = this.#clock.now();
    throw slowed;
  }

  #begin(
    { user, username, address }: CallOrigin,
    { nowMs, elapsedMs, reason }: { readonly nowMs: number; readonly elapsedMs: number; readonly reason: string },
  ): Refusals {
    const refusals: Refusals = {
      ...{ username, inRow: 0, times: 0, sinceMs: nowMs, lastMs: nowMs, reason },
      ...{ slowedUntilMs: 0, lastElapsedMs: elapsedMs, gateway: undefined },
    };
    this.#origins.set(keyOf({ user, username, address }), refusals);
    return refusals;
  }

  #slowedOf(refusals: Refusals, { username }: CallOrigin, elapsedMs: number): Refusal | undefined {
    if (refusals.slowedUntilMs <= elapsedMs) return undefined;
    const retryAfterS = Math.ceil((refusals.slowedUntilMs - elapsedMs) / 1000);
    return new Refusal(
      'too-many',
      `The last ${refusals.inRow} calls of ${username} from here were all refused. ${refusals.reason} Try again in ${retryAfterS} s.`,
      { retryAfterS },
    );
  }

  /** Who is refused again and again about a gateway at present; undefined: nobody. */
  findOfGateway(gateway: GatewayId): RefusedCallsSummary | undefined {
    const refusals = this.#ofGateway.get(gateway);
    if (refusals === undefined || refusals.inRow < this.#inRowMax) return undefined;
    if (this.#clock.elapsedMs() - refusals.lastElapsedMs > limits.refusedForgetMs) return undefined;
    const { username, times, sinceMs, lastMs, reason } = refusals;
    return { username, times, sinceMs, lastMs, reason };
  }

  #recent(key: string, elapsedMs: number): Refusals | undefined {
    const refusals = this.#origins.get(key);
    if (refusals === undefined || elapsedMs - refusals.lastElapsedMs <= limits.refusedForgetMs) return refusals;
    this.#origins.delete(key);
    return undefined;
  }

  /** A gateway shows one origin, the one that is refused most often: another origin cannot hide it by a single call. */
  #noteGateway(refusals: Refusals, gateway: GatewayId): void {
    if (refusals.gateway !== gateway) this.#leaveGateway(refusals);
    const shown = this.#ofGateway.get(gateway);
    if (shown !== undefined && shown !== refusals && shown.times >= refusals.times) return;
    if (shown !== undefined) shown.gateway = undefined;
    refusals.gateway = gateway;
    this.#ofGateway.set(gateway, refusals);
  }

  #leaveGateway(refusals: Refusals): void {
    if (refusals.gateway !== undefined) this.#ofGateway.delete(refusals.gateway);
    refusals.gateway = undefined;
  }
}

function keyOf({ user, address }: CallOrigin): string {
  return `${user} ${address}`;
}
