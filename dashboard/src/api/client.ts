// The API as typed calls: `await call(api.GET('/api/v2/devices/{device}', { params: { path: { device } } }))`.
// Paths, parameters and answers are those of schema.generated.ts. Every call carries the token; where it has run out,
// it is renewed once and the call repeated. Whatever is no success is thrown as ApiProblem.
import createClient from 'openapi-fetch';
import { ApiProblem } from './api-problem.ts';
import { plainAnswer } from './plain-text.ts';
import type { components, paths } from './schema.generated.ts';
import { session } from './session.ts';

export type Schemas = components['schemas'];
export type Device = Schemas['Device'];
export type Sensor = Schemas['Sensor'];
export type Datapoint = Schemas['Datapoint'];

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  headers: { accept: 'application/json' },
  fetch: async (request) => plainAnswer(await fetchWithToken(request), request.url),
});

interface ApiAnswer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The body of a successful answer. @throws ApiProblem */
export async function call<T>(sent: Promise<ApiAnswer<T>>): Promise<T> {
  return (await callWithHeaders(sent)).data;
}

interface Page<T> {
  readonly page: T;
  /** How many entries all pages have together. */
  readonly total: number;
  /** How many servers did not answer, so that what they have is missing. */
  readonly silent: number;
}

/** A page of a list. @throws ApiProblem */
export async function callPage<T>(sent: Promise<ApiAnswer<T>>): Promise<Page<T>> {
  const { data, response } = await callWithHeaders(sent);
  const silent = response.headers.get('x-silent-servers')?.split(',').length ?? 0;
  return { page: data, total: Number(response.headers.get('x-total-count') ?? 0), silent };
}

async function callWithHeaders<T>(
  sent: Promise<ApiAnswer<T>>,
): Promise<{ readonly data: T; readonly response: Response }> {
  const { data, error, response } = await sent;
  if (!response.ok) throw ApiProblem.from(response, error);
  return { data: data as T, response };
}

/** fetch with the token of the session; for what openapi-fetch is no help with, such as streams and downloads. */
export async function fetchWithToken(request: Request): Promise<Response> {
  const again = request.clone();
  const answer = await send(request, session.token);
  if (answer.status !== 401 || session.state.status !== 'user') return answer;
  return send(again, await session.renew());
}

async function send(request: Request, token: string | undefined): Promise<Response> {
  // What is mailed because of a call is written in the language chosen.
  request.headers.set('accept-language', document.documentElement.lang || 'en');
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`);
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw ApiProblem.unreachable(error);
  }
}
