// Questions of servers to one another: who is asked, who is waited for and for how long, and what is left of it in the database.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { Refusal } from '../../../base/refusal.ts';
import { systemClock } from '../../../base/time/clock.ts';
import type { AnnouncementHandlers } from '../../../domain/ports/announcement.ts';
import type { QuestionHandlers } from '../../../domain/ports/questions.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';

const asked = { gateways: ['g'] };

suite('questions of servers', { skip: withoutPostgres }, () => {
  setLimits({ answerMsMax: 4_000, answerLateMs: 50, answersAtOnce: 2 });
  let url: string;
  let database: PostgresDatabase;
  let one: PostgresEngine;
  let two: PostgresEngine;
  /** What the second answers; nothing while it is undefined. */
  let answer: QuestionHandlers['gateways-connected'] = async ({ gateways }) => ({ gateways });

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    one = await openPostgresEngine(url, { clock: systemClock });
    two = await openPostgresEngine(url, { clock: systemClock });
    two.coordination.questions.answer({ 'gateways-connected': (given) => answer(given) } as QuestionHandlers);
  });
  after(async () => {
    await Promise.all([one, two].map((engine) => engine?.close()));
    await database?.close();
    await dropDatabase(url);
  });

  const ask = () => one.coordination.questions.ask('gateways-connected', asked);
  const rows = () => database.query('SELECT * FROM question');
  const timed = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
    const beganMs = performance.now();
    return [await work(), performance.now() - beganMs];
  };

  test('are answered where no hint comes, and leave nothing behind', async () => {
    const { given, silent } = await ask();
    assert.deepEqual([given.map((one) => one.answer), silent], [[asked], []]);
    assert.ok(Number(given[0]?.place) > one.coordination.questions.place);
    await until(async () => (await rows()).length === 0);
  });

  test('are answered at once where servers listen, many of them', async () => {
    for (const { coordination } of [one, two]) coordination.listen({} as AnnouncementHandlers);
    await until(async () => (await timed(ask))[1] < 300);
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    assert.ok(answers.every(({ given }) => given.length === 1));
    await until(async () => (await rows()).length === 0);
  });

  test('that a server refuses are refused for who asked', async () => {
    answer = async () => {
      throw new Refusal('conflict', 'Not now.');
    };
    await assert.rejects(ask(), { code: 'conflict', message: 'Not now.' });
  });

  test('that a server cannot answer, or does not know, are not waited for', async () => {
    answer = async () => {
      throw new Error('broken');
    };
    for (const [{ given, silent }, ms] of [
      await timed(ask),
      await timed(() => one.coordination.questions.ask('client-found', { client: 'c' })),
    ]) {
      assert.deepEqual([given.length, silent.length], [0, 1]);
      assert.ok(ms < 3_500);
    }
  });

  test('that a server does not answer in time are waited for once, and less for a while; what it answers later is dropped', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = async ({ gateways }) => {
      await promise;
      return { gateways };
    };
    const [first, firstMs] = await timed(ask);
    assert.deepEqual([first.given.length, first.silent.length], [0, 1]);
    assert.ok(firstMs >= 3_900);
    const [second, secondMs] = await timed(ask);
    assert.deepEqual(second, first);
    assert.ok(secondMs < 3_500);
    resolve();
    answer = async ({ gateways }) => ({ gateways });
    await until(async () => (await ask()).given.length === 1);
    await until(async () => (await rows()).length === 0);
  });

  test('reach no server of the release before: that is silent at once', async () => {
    await database.query("INSERT INTO node (id, knows) VALUES ('former', '0012-distribution')");
    const [{ given, silent }, ms] = await timed(ask);
    assert.deepEqual([given.length, silent], [1, ['former']]);
    assert.ok(ms < 3_500);
    await database.query("DELETE FROM node WHERE id = 'former'");
  });

  test('are not waited for where a server is declared dead meanwhile', async () => {
    await database.query("INSERT INTO node (id, knows) VALUES ('dying', '0014-questions')");
    const asking = timed(ask);
    await until(async () => (await rows()).length === 2);
    await database.query("DELETE FROM node WHERE id = 'dying'");
    const [{ given, silent }, ms] = await asking;
    assert.deepEqual([given.length, silent], [1, []]);
    assert.ok(ms < 3_500);
  });

  test('of a server that ended while it asked are forgotten when the next one joins', async () => {
    await database.query("INSERT INTO question (asked, asker, number, body) VALUES ('nobody', 'gone', 1, '{}')");
    const three = await openPostgresEngine(url, { clock: systemClock });
    assert.deepEqual(await rows(), []);
    await three.close();
  });
});
