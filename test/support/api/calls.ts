// Calls as rows of a table: who calls what, with which body, and the expected status. Calls that are refused or only
// read must leave all rows unchanged; a refusal must be a problem document without internal details.
import assert from 'node:assert/strict';
import type { As } from '../people.ts';
import type { Answer, Carries, TestServer } from '../test-server.ts';

export interface Call extends Carries {
  /** `guest` where it is not said. */
  readonly as?: As;
  /** Method and path below `/api/v2`, such as `PUT /devices/d1/name`. */
  readonly call: string;
  /** `v2` where it is not said. */
  readonly version?: 'v1' | 'v2';
  readonly expect: number;
}

/** Makes the call and checks all that holds for every call. */
export async function make(
  server: TestServer,
  { as = 'guest', call, version = 'v2', expect, ...carries }: Call,
): Promise<Answer> {
  const [method = '', path = ''] = call.split(/ (.*)/s);
  const before = await server.rows();
  const answer = await server.request(as, method, `/api/${version}${path}`, carries);
  const what = `${version} ${call.slice(0, 200)} as ${as}: ${answer.text.slice(0, 400)}`;
  assert.equal(answer.status, expect, what);
  if (answer.status === 204) assert.equal(answer.bytes.length, 0, what);
  const isRefused = answer.status >= 400 && method !== 'HEAD';
  if (isRefused && version === 'v1') assertOlderError(answer, what);
  if (isRefused && version === 'v2') assertProblem(answer, what);
  if (answer.status >= 400 || method === 'GET' || method === 'HEAD') {
    assert.deepEqual(await server.rows(), before, `${what}: rows unchanged`);
  }
  return answer;
}

/** Makes the calls one after the other. */
export async function makeAll(server: TestServer, calls: readonly Call[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const call of calls) answers.push(await make(server, call));
  return answers;
}

/** A problem document (RFC 9457) that says enough to its reader and nothing about the inside of the service. */
export function assertProblem(answer: Answer, what: string): void {
  assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8', what);
  const { type, title, status, detail, instance, errors = [], quota, ...rest } = answer.body;
  assert.deepEqual(rest, {}, what);
  assert.match(type, /^urn:dundun:problem:[a-z-]+$/, what);
  assert.equal(type === 'urn:dundun:problem:quota', quota !== undefined, what);
  assert.equal(status, answer.status, what);
  assert.ok(title.length > 0 && detail.length > 0, what);
  assert.equal(typeof instance, 'string', what);
  for (const fault of errors) {
    const { pointer, detail, code, params, ...others } = fault;
    assert.deepEqual(others, {}, what);
    assert.match(code, /^[a-z-]+$/, what);
    assert.ok(detail.length > 0, what);
    assert.ok(params === undefined || Object.keys(params).length > 0, what);
    assert.match(pointer, /^(\/.*)?$/s, what);
  }
  assertHarmless(answer, what);
}

/** An error of version 1, which holds to the same. */
function assertOlderError(answer: Answer, what: string): void {
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8', what);
  const { error, description, ...rest } = answer.body;
  assert.deepEqual(rest, {}, what);
  assert.ok(error.length > 0 && description.length > 0, what);
  assertHarmless(answer, what);
}

function assertHarmless(answer: Answer, what: string): void {
  assert.doesNotMatch(answer.text, /\bat .+:\d+:\d+|node_modules|file:\/\/|\.ts\b|SQLITE|sqlite|FST_/, what);
  if (answer.status === 401) assert.match(answer.headers['www-authenticate'] ?? '', /^Bearer\b/, what);
  if (answer.status === 405) assert.ok(answer.headers.allow, what);
  if (answer.status === 429 || answer.status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/, what);
}
