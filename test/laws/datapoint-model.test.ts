// Pushes and reads over REST compared with a sorted array: whatever is pushed, removed and corrected, in whatever order,
// whatever is sealed, restarted or moved to another device in between, a read returns what the array has (contract 5).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';

let server: TestServer;
let sensors = 0;

before(async () => {
  server = await TestServer.start();
  for (const id of ['d', 'e']) await server.call('owner', 'POST', '/devices', { json: { id } });
});
after(() => server.stop());

interface Modelled {
  value: number;
  readonly orderMs: number;
  readonly timestamp: string | undefined;
  readonly received: string;
}

// Seconds around the present, few enough that many are equal.
const second = fc.integer({ min: -5, max: 5 });
const reading = fc.option(second, { nil: undefined });
const query = fc.record({
  from: fc.option(second, { nil: undefined }),
  to: fc.option(second, { nil: undefined }),
  limit: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  offset: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
  sort: fc.constantFrom(undefined, 'asc', 'desc', 'dsc'),
  lastN: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
  format: fc.constantFrom(undefined, 'json', 'ndjson'),
});
type Query = typeof query extends fc.Arbitrary<infer Q> ? Q : never;

const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ push: fc.array(reading, { minLength: 1, maxLength: 6 }) }) },
  { weight: 10, arbitrary: fc.record({ query }) },
  { weight: 3, arbitrary: fc.record({ advance: fc.integer({ min: 0, max: 2 }) }) },
  { weight: 3, arbitrary: fc.record({ remove: fc.tuple(second, second) }) },
  { weight: 3, arbitrary: fc.record({ correct: second }) },
  { weight: 1, arbitrary: fc.constant({ move: true } as const) },
  { weight: 2, arbitrary: fc.constant({ seal: true } as const) },
  { weight: 1, arbitrary: fc.constant({ restart: true } as const) },
);

test('a read gives what a sorted array gives', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
    sensors += 1;
    let device = 'd';
    let s = `/devices/d/sensors/s${sensors}`;
    let isLastRemoved = false;
    await server.call('owner', 'POST', '/devices/d/sensors', { json: { id: `s${sensors}` } });
    const baseMs = server.clock.now();
    const model: Modelled[] = [];
    for (const one of steps) {
      if ('push' in one) {
        await push(s, model, baseMs, one.push);
        isLastRemoved = false;
      } else if ('remove' in one) isLastRemoved = (await remove(s, model, baseMs, one.remove)) || isLastRemoved;
      else if ('correct' in one) await correct(s, model, baseMs + one.correct * 1000);
      else if ('move' in one) {
        device = device === 'd' ? 'e' : 'd';
        const { status } = await server.call('owner', 'PUT', `${s}/device`, { text: device });
        assert.equal(status, 204);
        s = `/devices/${device}/sensors/s${sensors}`;
      } else if ('query' in one) await compare(s, model, baseMs, one.query);
      else if ('advance' in one) server.clock.advance(one.advance * 1000);
      else if ('seal' in one) await server.running.engine.seal();
      else await server.restart();
    }
    const { body } = await server.call('owner', 'GET', s);
    // Where the last one was removed, it is one of those that are left.
    if (!isLastRemoved) assert.equal(body.last_value?.value, model.at(-1)?.value);
    else
      assert.ok(
        model.length === 0 ? !('last_value' in body) : model.some(({ value }) => value === body.last_value.value),
      );
  });
  await fc.assert(property, properties({ factor: 0.4 }));
});

async function push(
  s: string,
  model: Modelled[],
  baseMs: number,
  seconds: readonly (number | undefined)[],
): Promise<void> {
  const received = timestamp(server.clock.now());
  const added = seconds.map((at, n): Modelled => {
    const measuredMs = at === undefined ? undefined : baseMs + at * 1000;
    const orderMs = measuredMs ?? server.clock.now();
    return {
      value: model.length + n,
      orderMs,
      timestamp: measuredMs === undefined ? undefined : timestamp(measuredMs),
      received,
    };
  });
  const json = added.map(({ value, timestamp: measured }) => ({ value, timestamp: measured }));
  const { status } = await server.call('owner', 'POST', `${s}/values`, { json });
  assert.equal(status, 204);
  model.push(...added);
}

/** @returns whether the one that was pushed last is gone. */
async function remove(
  s: string,
  model: Modelled[],
  baseMs: number,
  [one, other]: readonly [number, number],
): Promise<boolean> {
  const [fromMs, toMs] = [Math.min(one, other), Math.max(one, other)].map((at) => baseMs + at * 1000) as [
    number,
    number,
  ];
  const isGone = ({ orderMs }: Modelled) => orderMs >= fromMs && orderMs <= toMs;
  const last = model.at(-1);
  const removed = model.filter(isGone).length;
  const query = `dateFrom=${timestamp(fromMs)}&dateTo=${timestamp(toMs)}`;
  const { body } = await server.call('owner', 'DELETE', `${s}/values?${query}`);
  assert.deepEqual(body, { removed });
  model.splice(0, model.length, ...model.filter((point) => !isGone(point)));
  return last !== undefined && isGone(last);
}

let corrections = 0;

async function correct(s: string, model: Modelled[], orderMs: number): Promise<void> {
  const [only, ...others] = model.filter((point) => point.orderMs === orderMs);
  corrections += 1;
  const json = { value: -corrections };
  const { status } = await server.call('owner', 'PUT', `${s}/values/${timestamp(orderMs)}`, { json });
  assert.equal(status, only === undefined ? 404 : others.length > 0 ? 422 : 204);
  if (only !== undefined && others.length === 0) only.value = json.value;
}

async function compare(s: string, model: readonly Modelled[], baseMs: number, asked: Query): Promise<void> {
  const { from, to, limit, offset, sort, lastN, format } = asked;
  const parameters = new URLSearchParams();
  if (from !== undefined) parameters.set('dateFrom', timestamp(baseMs + from * 1000));
  if (to !== undefined) parameters.set('dateTo', timestamp(baseMs + to * 1000));
  for (const [name, value] of Object.entries({ limit, offset, sort, lastN, format })) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const { status, text } = await server.call('owner', 'GET', `${s}/values?${parameters}`);
  assert.equal(status, 200, text);
  const found = format === 'ndjson' ? JSON.parse(`[${text.trim().replaceAll('\n', ',')}]`) : JSON.parse(text);
  assert.deepEqual(found, oracle(model, baseMs, asked), `${parameters}`);
}

function oracle(model: readonly Modelled[], baseMs: number, asked: Query): object[] {
  const { from = -1e9, to = 1e9, sort, lastN, format, offset = 0 } = asked;
  let points = model.filter(({ orderMs }) => orderMs >= baseMs + from * 1000 && orderMs <= baseMs + to * 1000);
  // A stable sort keeps equal times in order of arrival.
  points = points.toSorted((a, b) => a.orderMs - b.orderMs);
  if (lastN !== undefined) points = points.reverse().slice(0, lastN);
  else if (sort === 'desc' || sort === 'dsc') points.reverse();
  const limit = asked.limit ?? (format === 'ndjson' || lastN !== undefined ? Infinity : 20);
  return points.slice(offset, offset + limit).map(({ value, timestamp: measured, received }) => {
    return measured === undefined
      ? { value, date_received: received }
      : { value, timestamp: measured, date_received: received };
  });
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
