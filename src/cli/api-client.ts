// The HTTP client of the verbs that call a service: signs in, repeats requests that may be repeated, and reports
// refusals in plain words.
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../config/limits.ts';
import { withoutSlashes } from '../config/setting.ts';
import { askPassword } from './ask-password.ts';

export interface ServiceOptions {
  readonly url?: string;
  readonly token?: string;
  readonly user?: string;
}

export class ApiClient {
  readonly #url: string;
  readonly #login: { readonly username: string; readonly password: string } | undefined;
  #token: string | undefined;
  #hasAnswered = false;

  private constructor(parts: {
    readonly url: string;
    readonly token: string | undefined;
    readonly login: { readonly username: string; readonly password: string } | undefined;
  }) {
    this.#url = parts.url;
    this.#token = parts.token;
    this.#login = parts.login;
  }

  /** @throws Error where an option is wrong or the login is refused. */
  static async open(options: ServiceOptions): Promise<ApiClient> {
    const { env } = process;
    const url = withoutSlashes(options.url ?? env['DUNDUN_URL'] ?? 'http://localhost:8080');
    if (!URL.canParse(url) || !/^https?:/.test(url))
      throw new Error(`--url must be like http://localhost:8080, not ${url}.`);
    const token = options.token ?? env['DUNDUN_TOKEN'];
    if (options.user === undefined) return new ApiClient({ url, token, login: undefined });
    const password =
      env['DUNDUN_PASSWORD'] ?? (process.stdin.isTTY ? await askPassword({ fromStdin: false }) : undefined);
    if (password === undefined)
      throw new Error('Put the password of --user into DUNDUN_PASSWORD, or call from a terminal.');
    const client = new ApiClient({ url, token: undefined, login: { username: options.user, password } });
    await client.#signIn();
    return client;
  }

  /**
   * Returns a 2xx answer. Repeats the request where the service is unreachable or busy.
   * @throws Error with the service's message.
   */
  async call(
    method: string,
    path: string,
    carries: { readonly body?: Uint8Array<ArrayBuffer>; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      // Without any answer so far the service counts as absent; once it has answered, it is expected to come back.
      const isLast = attempt === limits.clientAttemptsMax;
      const answer = await this.#send(method, path, carries).catch((error: unknown) => {
        if (isLast || !this.#hasAnswered) throw unreachable(this.#url, error);
        return undefined;
      });
      if (answer !== undefined) this.#hasAnswered = true;
      if (answer?.ok) return answer;
      if (answer?.status === 401 && this.#login !== undefined && attempt === 1) {
        await this.#signIn();
        continue;
      }
      if (answer !== undefined && (isLast || !passing.has(answer.status))) throw new Error(await detailOf(answer));
      const seconds =
        Number(answer?.headers.get('retry-after') ?? 0) || (limits.clientRetryMs * 2 ** (attempt - 1)) / 1000;
      console.error(`${answer === undefined ? 'no answer' : `answer ${answer.status}`}; trying again in ${seconds} s`);
      await wait(seconds * 1000);
    }
  }

  async #signIn(): Promise<void> {
    const answer = await fetch(`${this.#url}/api/v2/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(this.#login),
    }).catch((error: unknown) => {
      throw unreachable(this.#url, error);
    });
    this.#hasAnswered = true;
    if (!answer.ok) throw new Error(await detailOf(answer));
    this.#token = await answer.text();
  }

  #send(
    method: string,
    path: string,
    { body, headers }: { readonly body?: Uint8Array<ArrayBuffer>; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Response> {
    const authorization = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    return fetch(`${this.#url}/api/v2${path}`, {
      method,
      headers: { ...headers, ...authorization },
      ...(body === undefined ? {} : { body }),
    });
  }
}

/** Statuses after which the same request may succeed later. */
const passing = new Set([429, 502, 503, 504]);

function unreachable(url: string, error: unknown): Error {
  return new Error(`${url} cannot be reached: ${causeOf(error)}.`);
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || ((cause as NodeJS.ErrnoException).code ?? message) : message;
}

async function detailOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return String((JSON.parse(text) as { readonly detail: unknown }).detail);
  } catch {
    return `The service answered ${answer.status}; is this a Dundun?`;
  }
}
