// Rules compared with a short model of spec 6: for any rules, and any pushes, pauses, changes, stops and kills, and
// whatever is removed, corrected, moved to another device (contract 4) or given another id, each rule has fired as often as the model says,
// and sent as many messages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { runSql } from '../support/data.ts';
import { setLimits } from '../support/limits.ts';
import { properties } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';

let server: TestServer;
let runs = 0;

// A run may rename more often than a day allows.
setLimits({ renamesPerDeviceMax: 1_000, renamesPerUserMax: 1_000_000 });

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

type Sensor = 'A' | 'B';

/** A rule as the oracle knows it. */
interface Rule {
  readonly id: string;
  readonly watches: readonly Sensor[];
  lowerThan: number;
  /** That B must be above, where it counts. */
  readonly above: number | undefined;
  throttlingS: number;
  expiresMs: number;
  isActive: boolean;
  fired: number;
  lastMs: number | undefined;
  isGone: boolean;
}

/** Spec 6, 1 and 2. */
function takeValue(rules: readonly Rule[], last: Partial<Record<Sensor, number>>, sensor: Sensor, nowMs: number): void {
  for (const rule of rules) {
    const { A, B } = last;
    const holds =
      A !== undefined && A < rule.lowerThan && (rule.above === undefined || (B !== undefined && B > rule.above));
    const isApart = rule.lastMs === undefined || nowMs - rule.lastMs >= rule.throttlingS * 1000;
    if (rule.isGone || !rule.isActive || !rule.watches.includes(sensor)) continue;
    if (nowMs >= rule.expiresMs || !holds || !isApart) continue;
    rule.fired += 1;
    rule.lastMs = nowMs;
  }
}

const number = fc.integer({ min: 0, max: 9 });
const throttling = fc.constantFrom(0, 0, 1, 3);
const which = fc.nat({ max: 5 });
const sensor = fc.constantFrom<Sensor>('A', 'B');
const expires = fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined, freq: 4 });
const newRule = fc.record({
  lowerThan: number,
  above: fc.option(number, { nil: undefined }),
  throttling,
  expires,
  isPaused: fc.boolean(),
});
const step = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({ push: fc.record({ sensor, values: fc.array(number, { minLength: 1, maxLength: 4 }) }) }),
  },
  { weight: 6, arbitrary: fc.record({ add: newRule }) },
  { weight: 8, arbitrary: fc.record({ set: fc.record({ which, isActive: fc.boolean() }) }) },
  { weight: 6, arbitrary: fc.record({ edit: fc.record({ which, lowerThan: number, throttling, expires }) }) },
  { weight: 1, arbitrary: fc.record({ remove: which }) },
  { weight: 8, arbitrary: fc.record({ advance: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 5, arbitrary: fc.record({ removeLast: sensor }) },
  { weight: 5, arbitrary: fc.record({ correctLast: fc.record({ sensor, value: number }) }) },
  { weight: 2, arbitrary: fc.record({ move: fc.record({ sensor, value: number, meanwhile: number }) }) },
  { weight: 4, arbitrary: fc.record({ rename: fc.constantFrom('device', 'A', 'B') }) },
  { weight: 1, arbitrary: fc.constant({ quiet: true } as const) },
  { weight: 1, arbitrary: fc.constant({ seal: true } as const) },
  { weight: 1, arbitrary: fc.constant({ restart: true } as const) },
  { weight: 1, arbitrary: fc.constant({ crash: true } as const) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

test('a rule fires as often as the specification says', async () => {
  const property = fc.asyncProperty(
    fc.array(newRule, { minLength: 1, maxLength: 3 }),
    fc.array(step, { minLength: 5, maxLength: 25 }),
    async (first, steps) => {
      const model = new Model();
      await model.start();
      for (const rule of first) await model.take({ add: rule });
      for (const one of steps) await model.take(one);
      await model.compare();
      await model.end();
    },
  );
  await fc.assert(property, properties({ factor: 0.5 }));
});

class Model {
  readonly #device = `model-${++runs}`;
  /** Which have their other id now. The one before answers. */
  readonly #renamed = new Set<'device' | Sensor>();
  #pushes = 0;
  readonly #rules: Rule[] = [];
  /** What is stored of each sensor, in order of arrival. */
  readonly #stored: Record<Sensor, { readonly receivedMs: number; value: number }[]> = { A: [], B: [] };

  async start(): Promise<void> {
    const json = { id: this.#device, sensors: [{ id: 'A' }, { id: 'B' }] };
    await server.call('owner', 'POST', '/devices', { json });
    await server.call('owner', 'POST', '/devices', { json: { id: this.#other } });
  }

  get #other(): string {
    return `${this.#device}-other`;
  }

  /** What a rule compares with: the value received last of those that are left. */
  get #last(): Partial<Record<Sensor, number>> {
    const [A, B] = [this.#stored.A.at(-1)?.value, this.#stored.B.at(-1)?.value];
    return { ...(A !== undefined && { A }), ...(B !== undefined && { B }) };
  }

  /** So that the rules of one run do not burden the next. */
  async end(): Promise<void> {
    for (const { id, isGone } of this.#rules) if (!isGone) await server.call('owner', 'DELETE', `/notifications/${id}`);
  }

  async take(one: Step): Promise<void> {
    if ('push' in one) await this.#push(one.push.sensor, one.push.values, {});
    else if ('quiet' in one) await this.#push('A', [0], { prefer: 'notify=none' });
    else if ('add' in one) await this.#add(one.add);
    else if ('set' in one) await this.#set(one.set);
    else if ('edit' in one) await this.#edit(one.edit);
    else if ('remove' in one) await this.#remove(one.remove);
    else if ('removeLast' in one) await this.#removeLast(one.removeLast);
    else if ('correctLast' in one) await this.#correctLast(one.correctLast.sensor, one.correctLast.value);
    else if ('move' in one) await this.#moveAround(one.move);
    else if ('rename' in one) await this.#rename(one.rename);
    else if ('seal' in one) await server.running.engine.seal();
    else if ('restart' in one) await server.restart();
    else if ('crash' in one) await server.crash();
    else {
      // What was pushed has been looked at before time goes on: how soon that is the specification does not say.
      await server.running.idle();
      server.clock.advance(one.advance * 1000);
    }
  }

  async compare(): Promise<void> {
    await server.running.idle();
    for (const rule of this.#rules.filter(({ isGone }) => !isGone)) {
      const { body } = await server.call('owner', 'GET', `/notifications/${rule.id}`);
      const lastMs = body.last_notification === undefined ? undefined : Date.parse(body.last_notification);
      assert.deepEqual(
        [body.times_sent, lastMs, await messagesOf(rule.id)],
        [rule.fired, rule.lastMs, rule.fired],
        rule.id,
      );
    }
  }

  async #push(of: Sensor, values: readonly number[], headers: Record<string, string>): Promise<void> {
    const path = `/devices/${this.#idOf('device')}/sensors/${this.#idOf(of)}/values`;
    const json = values.map((value) => ({ value }));
    assert.equal((await server.call('owner', 'POST', path, { json, headers })).status, 204);
    for (const value of values) {
      this.#stored[of].push({ receivedMs: server.clock.now(), value });
      if (headers['prefer'] === undefined) takeValue(this.#rules, this.#last, of, server.clock.now());
    }
  }

  async #add({
    lowerThan,
    above,
    throttling: throttlingS,
    expires: inS,
    isPaused,
  }: typeof newRule extends fc.Arbitrary<infer R> ? R : never): Promise<void> {
    const expiresMs = inS === undefined ? Number.POSITIVE_INFINITY : server.clock.now() + inS * 1000;
    const json = {
      condition: { devices: [this.#device], sensors: ['A'], expression: expression(lowerThan, above) },
      action: { usernames: ['owner'], channels: ['none'], message: '{A}' },
      throttling: throttlingS,
      status: isPaused ? 'inactive' : 'active',
      ...(inS === undefined ? {} : { expires: new Date(expiresMs).toISOString() }),
    };
    const { text: id, status } = await server.call('owner', 'POST', '/notifications', { json });
    assert.equal(status, 200, id);
    const watches: Sensor[] = above === undefined ? ['A'] : ['A', 'B'];
    this.#rules.push({
      id,
      watches,
      lowerThan,
      above,
      throttlingS,
      expiresMs,
      isActive: !isPaused,
      fired: 0,
      lastMs: undefined,
      isGone: false,
    });
  }

  async #set({ which: n, isActive }: { which: number; isActive: boolean }): Promise<void> {
    const rule = this.#find(n);
    if (rule === undefined) return;
    const text = isActive ? 'active' : 'inactive';
    assert.equal((await server.call('owner', 'PUT', `/notifications/${rule.id}/status`, { text })).status, 204);
    rule.isActive = isActive;
  }

  async #edit(edit: {
    which: number;
    lowerThan: number;
    throttling: number;
    expires: number | undefined;
  }): Promise<void> {
    const rule = this.#find(edit.which);
    if (rule === undefined) return;
    const expiresMs = edit.expires === undefined ? undefined : server.clock.now() + edit.expires * 1000;
    const json = {
      condition: { expression: expression(edit.lowerThan, rule.above) },
      throttling: edit.throttling,
      expires: expiresMs === undefined ? null : new Date(expiresMs).toISOString(),
    };
    assert.equal((await server.call('owner', 'PATCH', `/notifications/${rule.id}`, { json })).status, 204);
    rule.lowerThan = edit.lowerThan;
    rule.throttlingS = edit.throttling;
    rule.expiresMs = expiresMs ?? Number.POSITIVE_INFINITY;
  }

  async #remove(n: number): Promise<void> {
    const rule = this.#find(n);
    if (rule === undefined) return;
    assert.equal((await server.call('owner', 'DELETE', `/notifications/${rule.id}`)).status, 204);
    rule.isGone = true;
  }

  /** Gives the device or a sensor its other id, while datapoints may wait for the rules. */
  async #rename(what: 'device' | Sensor): Promise<void> {
    const other = `${what === 'device' ? this.#device : what}${this.#renamed.has(what) ? '' : '-x'}`;
    const path = what === 'device' ? `/devices/${this.#device}/id` : `/devices/${this.#device}/sensors/${what}/id`;
    const { status, text } = await server.call('owner', 'PUT', path, { text: other });
    assert.equal(status, 204, text);
    if (!this.#renamed.delete(what)) this.#renamed.add(what);
  }

  /** By turns the first id, which is the present or a former one, and where there is one the other. */
  #idOf(what: 'device' | Sensor): string {
    this.#pushes += 1;
    const isOther = this.#renamed.has(what) && this.#pushes % 3 === 0;
    return `${what === 'device' ? this.#device : what}${isOther ? '-x' : ''}`;
  }

  /** Removes all of the moment at which the last one was received: no rule fires, and the next value is judged by what is left. */
  async #removeLast(of: Sensor): Promise<void> {
    const lastMs = this.#stored[of].at(-1)?.receivedMs;
    if (lastMs === undefined) return;
    // A rule that has not come to a datapoint yet would not see it.
    await server.running.idle();
    const path = `/devices/${this.#device}/sensors/${of}/values?timestamp=${new Date(lastMs).toISOString()}`;
    const { status, body } = await server.call('owner', 'DELETE', path);
    const left = this.#stored[of].filter(({ receivedMs }) => receivedMs !== lastMs);
    assert.deepEqual([status, body.removed], [200, this.#stored[of].length - left.length]);
    this.#stored[of] = left;
  }

  /** Corrects the last one where it is the only one of its moment. */
  async #correctLast(of: Sensor, value: number): Promise<void> {
    const last = this.#stored[of].at(-1);
    if (last === undefined) return;
    await server.running.idle();
    const isOnly = this.#stored[of].filter(({ receivedMs }) => receivedMs === last.receivedMs).length === 1;
    const path = `/devices/${this.#device}/sensors/${of}/values/${new Date(last.receivedMs).toISOString()}`;
    const { status } = await server.call('owner', 'PUT', path, { json: { value } });
    assert.equal(status, isOnly ? 204 : 422);
    if (isOnly) last.value = value;
  }

  /** Moves a sensor to another device, where no rule watches it, pushes to both, and moves it back with its history. */
  async #moveAround({
    sensor: of,
    value,
    meanwhile,
  }: {
    sensor: Sensor;
    value: number;
    meanwhile: number;
  }): Promise<void> {
    await server.running.idle();
    // Moved under its present id, by which it is known there; on the way back it has no former one, and rules name it by that.
    for (const each of ['A', 'B'] as const) if (this.#renamed.has(each)) await this.#rename(each);
    const [here, there] = [`/devices/${this.#device}/sensors`, `/devices/${this.#other}/sensors`];
    const move = async (from: string, text: string) =>
      assert.equal((await server.call('owner', 'PUT', `${from}/${of}/device`, { text })).status, 204);
    const push = async (to: string, json: unknown) =>
      assert.equal((await server.call('owner', 'POST', `${to}/values`, { json })).status, 204);
    await move(here, this.#other);
    await push(`${there}/${of}`, { value });
    this.#stored[of].push({ receivedMs: server.clock.now(), value });
    const stays = of === 'A' ? 'B' : 'A';
    await push(`${here}/${stays}`, { value: meanwhile });
    this.#stored[stays].push({ receivedMs: server.clock.now(), value: meanwhile });
    takeValue(this.#rules, { [stays]: meanwhile }, stays, server.clock.now());
    await server.running.idle();
    await move(there, this.#device);
  }

  #find(n: number): Rule | undefined {
    const there = this.#rules.filter(({ isGone }) => !isGone);
    return there.length === 0 ? undefined : there[n % there.length];
  }
}

function expression(lowerThan: number, above: number | undefined): string {
  return above === undefined ? `A<${lowerThan}` : `A<${lowerThan};B>${above}`;
}

async function messagesOf(id: string): Promise<number> {
  const sql = `SELECT count(*) AS n FROM message WHERE notification = (SELECT key FROM notification WHERE id = '${id}')`;
  return Number((await runSql(server.folder, sql))[0]?.['n']);
}
