// Who is signed in. The token is in memory alone and is renewed while the page is open, by the HttpOnly cookie of
// /api/v2/auth/session, which no script can read. Everything that talks to the server asks here for the token.
import { limits } from '../limits.ts';
import { ApiProblem } from './api-problem.ts';
import { takeEarly } from './early.ts';

export type SessionState =
  | { readonly status: 'starting' }
  | { readonly status: 'guest'; readonly hasEnded: boolean }
  | { readonly status: 'user'; readonly username: string; readonly userId: string; readonly isAdmin: boolean };

interface Claims {
  readonly sub: string;
  readonly preferred_username: string;
  readonly admin: boolean;
  readonly iat: number;
  readonly exp: number;
}

const path = '/api/v2/auth/session';
/** Whether this browser has signed in; no secret. Without it, nothing is asked for when a page opens. */
const hintKey = 'dundun.session';

class Session {
  #state: SessionState = { status: 'starting' };
  #token: string | undefined;
  #renewing: Promise<string | undefined> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  get state(): SessionState {
    return this.#state;
  }

  /** Whether this browser has signed in, before the server has said whether that still holds. */
  get isExpected(): boolean {
    return localStorage.getItem(hintKey) !== null;
  }

  get token(): string | undefined {
    return this.#token;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Finds out who this browser belongs to; called once, before anything is shown. */
  async start(): Promise<void> {
    window.addEventListener('storage', (event) => this.#onOtherTab(event));
    document.addEventListener('visibilitychange', () => this.#onVisible());
    if (localStorage.getItem(hintKey) !== null) {
      await this.renew();
      return;
    }
    // What was asked for before another tab signed out is nobody's.
    void takeEarly('session');
    this.#become({ status: 'guest', hasEnded: false });
  }

  /** @throws ApiProblem with the server's reason. */
  async signIn(login: { readonly username: string; readonly password: string }): Promise<void> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const answer = await send({ method: 'POST', headers, body: JSON.stringify(login) });
    if (!answer.ok) throw await ApiProblem.of(answer);
    localStorage.setItem(hintKey, '1');
    this.#take((await answer.json()) as string);
  }

  async signOut(): Promise<void> {
    await send({ method: 'DELETE' }).catch(() => undefined);
    this.#leave({ hasEnded: false });
  }

  /** A fresh token by the cookie; undefined where the session is over. One request, however many ask. */
  renew(): Promise<string | undefined> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<string | undefined> {
    try {
      const answer = await (takeEarly('session') ?? send({ method: 'PUT', headers: { accept: 'application/json' } }));
      if (answer.ok) this.#take((await answer.json()) as string);
      else if (answer.status === 401 || answer.status === 403) this.#leave({ hasEnded: true });
      else this.#tryAgain();
    } catch {
      this.#tryAgain();
    }
    return this.#token;
  }

  /** The server is away: what is shown stays, and it is asked again. */
  #tryAgain(): void {
    if (this.#state.status === 'starting') this.#become({ status: 'guest', hasEnded: false });
    this.#schedule(limits.streamRetryMsMax);
  }

  #take(token: string): void {
    const claims = JSON.parse(atob(token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? '')) as Claims;
    this.#token = token;
    this.#schedule((claims.exp - claims.iat) * 1000 * limits.renewAfter);
    const { preferred_username: username, sub: userId, admin: isAdmin } = claims;
    const known = this.#state;
    const isSame = known.status === 'user' && known.userId === userId && known.isAdmin === isAdmin;
    if (!isSame) this.#become({ status: 'user', username, userId, isAdmin });
  }

  #leave(how: { readonly hasEnded: boolean }): void {
    this.#token = undefined;
    clearTimeout(this.#timer);
    localStorage.removeItem(hintKey);
    this.#become({ status: 'guest', ...how });
  }

  #schedule(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.renew(), afterMs);
  }

  #become(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  /** Signing in or out in one tab holds for all. */
  #onOtherTab(event: StorageEvent): void {
    if (event.key !== hintKey) return;
    if (event.newValue === null) this.#leave({ hasEnded: false });
    else void this.renew();
  }

  /** Timers stand still while a laptop sleeps. */
  #onVisible(): void {
    if (document.visibilityState === 'visible' && this.#token !== undefined) void this.renew();
  }
}

async function send(init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: 'same-origin', ...init });
  } catch (error) {
    throw ApiProblem.unreachable(error);
  }
}

export const session = new Session();
