// Dundun over REST, as the demo uses it: sign in, register, push arrays, read back as NDJSON.
import type { Datapoint, Mote } from './motes.ts';
import type { ServerAddress } from './options.ts';

/** Datapoints in one push: a request of some 25 kB. */
const pushDatapoints = 500;

export class Rest {
  readonly #base: string;
  readonly #token: string;

  private constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  static async signIn({ url, user, password }: ServerAddress): Promise<Rest> {
    const base = `${url}/api/v2`;
    const body = JSON.stringify({ username: user, password });
    const headers = { 'content-type': 'application/json', accept: 'text/plain' };
    const answer = await fetch(`${base}/auth/token`, { method: 'POST', headers, body }).catch((error: unknown) => {
      throw new Error(`There is no server at ${url}.`, { cause: error });
    });
    if (!answer.ok) throw new Error(`Signing in as ${user}: ${await problemOf(answer)}`);
    return new Rest(base, await answer.text());
  }

  async deviceExists(id: string): Promise<boolean> {
    const answer = await this.#call(`devices/${id}`, {}, [404, 403]);
    return answer.status !== 404;
  }

  /** Deletes the device and its datapoints, if it is there. */
  async removeDevice(id: string): Promise<void> {
    await this.#call(`devices/${id}`, { method: 'DELETE' }, [404]);
  }

  async createDevice(mote: Mote): Promise<void> {
    await this.#call('devices', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: mote.id,
        name: `Mote ${mote.id.slice(-1)} (${mote.indoor ? 'indoors' : 'outdoors'})`,
        domain: 'motes',
        sensors: mote.sensors.map(({ id, unit }) => ({ id, quantity_kind: id, unit })),
      }),
    });
  }

  /** Adds a record. */
  async post(path: string, record: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await this.#call(path, { method: 'POST', headers, body: JSON.stringify(record) });
  }

  async get(path: string): Promise<unknown> {
    return (await this.#call(path, {})).json();
  }

  /** Sets a field; `json` is its value. */
  async put(path: string, json: string): Promise<void> {
    await this.#call(path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: json });
  }

  /** Pushes in arrays, one after another; `pushed` hears of each that was acknowledged. */
  async push(path: string, datapoints: readonly Datapoint[], pushed: (count: number) => void): Promise<void> {
    for (let from = 0; from < datapoints.length; from += pushDatapoints) {
      const part = datapoints.slice(from, from + pushDatapoints);
      const headers = { 'content-type': 'application/json' };
      await this.#call(`${path}/values`, { method: 'POST', headers, body: JSON.stringify(part) });
      pushed(part.length);
    }
  }

  /** All datapoints of a sensor, ascending by time; with a window, those within it, both ends included. */
  async read(path: string, window?: { readonly from: string; readonly to: string }): Promise<Datapoint[]> {
    const query = new URLSearchParams({ format: 'ndjson' });
    if (window !== undefined) {
      query.set('dateFrom', window.from);
      query.set('dateTo', window.to);
    }
    const answer = await this.#call(`${path}/values?${query}`);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Datapoint);
  }

  async #call(path: string, init: RequestInit = {}, alsoFine: readonly number[] = []): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${this.#token}`);
    const answer = await fetch(`${this.#base}/${path}`, { ...init, headers });
    if (answer.ok || alsoFine.includes(answer.status)) return answer;
    throw new Error(`${init.method ?? 'GET'} ${path}: ${await problemOf(answer)}`);
  }
}

async function problemOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return `${answer.status}, ${(JSON.parse(text) as { detail: string }).detail}`;
  } catch {
    return `${answer.status}, ${text.slice(0, 200)}`;
  }
}
