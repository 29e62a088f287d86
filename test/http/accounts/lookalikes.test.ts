// Usernames that look alike (contract 2): nobody can register a name that looks like another user's or the service's,
// or that has invisible characters.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import confusables from '../../../src/domain/users/confusables.json' with { type: 'json' };
import { likenessOf } from '../../../src/domain/users/username.ts';
import { NodeSqliteDialect } from '../../../src/engines/embedded/database/dialect.ts';
import { migratedInMemory } from '../../../src/engines/embedded/database/migrate.ts';
import { migrations } from '../../../src/engines/embedded/database/migrations/migrations.ts';
import { make } from '../../support/api/calls.ts';
import { addUsers, password } from '../../support/people.ts';
import { properties } from '../../support/properties.ts';
import { TestServer } from '../../support/test-server.ts';

const hourMs = 3_600_000;

suite('a name', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ DUNDUN_SELF_REGISTRATION: 'on' });
    await addUsers(server.folder, ['Ian', 'barn', 'École'], server.clock);
  });
  after(() => server.stop());

  const register = (username: string, expect: number, as = 'guest') => {
    server.clock.advance(hourMs);
    return make(server, { as, call: 'POST /users', json: { username, password }, expect });
  };

  const unseen = [
    '\ufe0f',
    '\u034f',
    '\u3164',
    '\u115f',
    '\uffa0',
    '\u200b',
    '\u200d',
    '\u202e',
    '\u2066',
    '\u2800',
    '\u{e0061}',
    '\u0007',
    '\ue000',
    '\u{1d159}',
    '\u{16fe4}',
    '\u{1107f}',
    // Spaces so narrow that they hardly show.
    '\u200a',
    '\u2009',
    '\u202f',
  ];
  for (const character of unseen) {
    const code = character.codePointAt(0)?.toString(16);
    test(`with U+${code}, which does not show, is given to nobody, by nobody`, async () => {
      for (const name of [`admin${character}`, `${character}admin`, `new${character}name`]) {
        for (const as of ['guest', 'stranger', 'admin']) {
          const { body } = await register(name, 400, as);
          assert.equal(body.errors[0].pointer, '/username');
        }
      }
    });
  }

  const lookalikes = [
    'ɑdmin',
    'admın',
    'ɡuest',
    'ɢuest',
    'ᴀᴅᴍɪɴ',
    '🅰🅳🅼🅸🅽',
    '🅐🅓🅜🅘🅝',
    '🇦🇩🇲🇮🇳',
    'adrnin',
    'ADMlN',
    'аdmin',
    'adm\u0131\u0307n',
    'lan',
    'bam',
    'E\u0301COLE',
  ];
  for (const name of lookalikes) {
    test(`${name} is not taken by who makes an account for themselves`, async () => {
      server.clock.advance(hourMs);
      const answer = await server.call('guest', 'POST', '/users', { json: { username: name, password } });
      // 400 where scripts are mixed.
      assert.ok(answer.status === 422 || (name === 'аdmin' && answer.status === 400), answer.text);
    });
  }

  test('that looks like another is given by an admin, who sees whom it is for', async () => {
    await register('lan', 200, 'admin');
  });

  test('is refused however its letters are exchanged for others that look the same', async () => {
    const twins = twinsByPrototype();
    const name = fc.string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEILMO019'),
      minLength: 3,
      maxLength: 12,
    });
    const picks = fc.array(fc.nat(), { minLength: 12, maxLength: 12 });
    const property = fc.asyncProperty(name, picks, async (username, dice) => {
      server.clock.advance(hourMs);
      await server.call('guest', 'POST', '/users', { json: { username, password } });
      const twin = [...username].map((character, n) => {
        const others = twins.get(character) ?? [character];
        return others[(dice[n] ?? 0) % others.length];
      });
      const { status, text } = await server.call('guest', 'POST', '/users', {
        json: { username: twin.join(''), password },
      });
      assert.ok(status === 422 || status === 400, `${username} ${twin.join('')}: ${status} ${text}`);
    });
    await fc.assert(property, properties({ factor: 0.1 }));
    const { user } = await server.rows();
    const made = (user as { username: string; given: string }[]).filter(({ username }) => username !== 'lan');
    for (const key of ['folded', 'shown'] as const) {
      const skeletons = made.map(({ username }) => likenessOf(username)[key]);
      assert.equal(new Set(skeletons).size, skeletons.length, `${key}: no two are the same`);
    }
  });

  test('that was there before goes on, and is found by who looks like it', async () => {
    const database = await migratedInMemory();
    const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    database.exec("DELETE FROM kysely_migration WHERE name >= '0021'");
    database.exec('DROP INDEX user_skeleton; DROP INDEX user_skeleton_shown');
    database.exec('ALTER TABLE user DROP COLUMN skeleton; ALTER TABLE user DROP COLUMN skeleton_shown');
    const insert = database.prepare(
      "INSERT INTO user (id, username, folded, profile, admin, created_time) VALUES (?, ?, ?, '{}', 0, 0)",
    );
    for (const name of ['Ian', 'admin\ufe0f', 'ian']) insert.run(name, name, name.toLowerCase());
    const { error } = await migrator.migrateTo('0021-name-skeletons');
    assert.equal(error, undefined);
    const rows = database.prepare('SELECT username, skeleton, skeleton_shown FROM user ORDER BY key').all();
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        ['Ian', 'ian', 'lan'],
        ['admin\ufe0f', 'adrnin', 'adrnin'],
        ['ian', 'ian', 'ian'],
      ],
    );
    database.close();
  });
});

/** For each letter, all characters that the table says look like it, itself first. */
function twinsByPrototype(): ReadonlyMap<string, readonly string[]> {
  const textOf = (hex: string) => String.fromCodePoint(...hex.split('.').map((part) => Number.parseInt(part, 16)));
  const sources = new Map<string, string[]>();
  for (const entry of confusables.characters.split(',')) {
    const [from = '', to = ''] = entry.split(' ').map(textOf);
    sources.set(to, [...(sources.get(to) ?? []), from]);
  }
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEILMO019';
  return new Map([...letters].map((letter) => [letter, [letter, ...(sources.get(letter) ?? [])]]));
}
