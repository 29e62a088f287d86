// Announcements between processes: here two in one, each with its own connections and its own row of `node`.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, PostgresServer, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { Refusal } from '../../../base/refusal.ts';
import type { Announcement, AnnouncementHandlers } from '../../../domain/ports/announcement.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { RegistryWriter } from '../registry/registry-writer.ts';
import { Announcements } from './announcements.ts';
import { declareDead } from './death.ts';

/** A process with its own connections; `take` is what it does on each announcement. */
class Process {
  readonly database: PostgresDatabase;
  readonly writer: RegistryWriter;
  readonly announcements: Announcements;
  readonly heard: Announcement[] = [];
  take: (announcement: Announcement) => Promise<void> = async () => {};
  unreadable: Error | undefined;

  constructor(url: string, node: string) {
    this.database = new PostgresDatabase(url);
    this.writer = new RegistryWriter({ database: this.database, writer: node });
    this.announcements = new Announcements({
      ...{ database: this.database, writer: this.writer, node },
      bury: () => declareDead(this.database, { node, isNew: false }),
      onUnreadable: (error) => {
        this.unreadable = error;
      },
    });
  }

  listen(): void {
    const handler = async (announcement: Announcement) => {
      await this.take(announcement);
      this.heard.push(announcement);
    };
    this.announcements.listen(new Proxy({}, { get: () => handler }) as AnnouncementHandlers);
  }

  async close(): Promise<void> {
    await this.announcements.close();
    await this.writer.close();
    await this.database.close();
  }
}

const changed = (device: string): Announcement => ({ kind: 'device-changed', device });

suite('announcements between processes on PostgreSQL', { skip: withoutPostgres }, () => {
  setLimits({ announcementPollMs: 200, announcementMsMax: 3_000, announcementsAtOnce: 7 });
  let url: string;
  let one: Process;
  let two: Process;

  const renew = () => two.database.query("UPDATE node SET renewed = now() + interval '1 hour'");

  before(async () => {
    url = await createDatabase();
    one = new Process(url, 'one');
    two = new Process(url, 'two');
    await one.database.query(
      "INSERT INTO node (id, renewed) SELECT unnest(ARRAY['one', 'two']), now() + interval '1 hour'",
    );
    one.listen();
    two.listen();
  });
  afterEach(() => {
    for (const process of [one, two]) {
      process.heard.length = 0;
      process.take = async () => {};
    }
  });
  after(async () => {
    await one?.close();
    await two?.close();
    await dropDatabase(url);
  });

  test('whoever announces waits until the other has applied it, and does not hear it', async () => {
    let isApplied = false;
    two.take = async () => {
      await pause(50);
      isApplied = true;
    };
    await one.announcements.announce(changed('d'));
    assert.equal(isApplied, true);
    assert.deepEqual([one.heard, two.heard], [[], [changed('d')]]);
    await until(async () => (await one.database.query('SELECT 1 FROM announcement')).length === 0);
  });

  test('many at once are heard once each, those of one process in their order', async () => {
    const [ofOne, ofTwo] = ['one', 'two'].map((node) => Array.from({ length: 60 }, (_, n) => changed(`${node}-${n}`)));
    await Promise.all([
      ...(ofOne ?? []).map((each) => one.announcements.announce(each)),
      ...(ofTwo ?? []).map((each) => two.announcements.announce(each)),
    ]);
    assert.deepEqual([one.heard, two.heard], [ofTwo, ofOne]);
  });

  test('what a message says, bytes and all, arrives as it was', async () => {
    const announcement: Announcement = {
      ...{ kind: 'actuator-set', device: 'd', actuator: 'a', valueJson: '1', setting: undefined },
      original: { payload: Buffer.from([0, 255, 10]), bytes: 3, qos: 1, retain: true, user: 7 },
    };
    await one.announcements.announce(announcement);
    const [heard] = two.heard;
    assert.ok(heard?.kind === 'actuator-set');
    assert.deepEqual([...(heard.original?.payload ?? [])], [0, 255, 10]);
    assert.deepEqual({ ...heard.original, payload: 0 }, { ...announcement.original, payload: 0 });
  });

  test('a refusal of another process comes back, and the next announcement is heard', async () => {
    two.take = async () => {
      throw new Refusal('exists', 'It is the client id of somebody else.');
    };
    const reserved = { kind: 'client-id-reserved', clientId: 'c', user: 1 } as const;
    await assert.rejects(one.announcements.announce(reserved), {
      code: 'exists',
      message: 'It is the client id of somebody else.',
    });
    two.take = async () => {};
    await one.announcements.announce(changed('next'));
    assert.deepEqual(two.heard, [changed('next')]);
  });

  test('what could not be applied is tried again, and nothing of what came before it', async () => {
    let failures = 2;
    two.take = async (announcement) => {
      if (announcement.kind !== 'device-changed' || announcement.device !== 'b' || failures === 0) return;
      failures -= 1;
      throw new Error('the storage is away');
    };
    await Promise.all(['a', 'b', 'c'].map((device) => one.announcements.announce(changed(device))));
    const heard = (device: string) => two.heard.filter((one) => isDeepStrictEqual(one, changed(device))).length;
    assert.deepEqual([heard('a'), heard('b')], [1, 1]);
    // A record that is read anew may be so again.
    assert.ok(heard('c') >= 1);
  });

  test('the same change of many is heard at most once for each row, and waits for no other', async () => {
    const all = Array.from({ length: 300 }, (_, n) => changed(`${n % 3}`));
    await Promise.all(all.map((each) => one.announcements.announce(each)));
    assert.deepEqual(new Set(two.heard.map((each) => JSON.stringify(each))).size, 3);
    assert.ok(two.heard.length < all.length / 2, `${two.heard.length} were applied`);
    await until(async () => (await one.database.query('SELECT seq FROM announcement')).length === 0);
  });

  test('a listener whose connection is ended again and again misses nothing', async () => {
    let isOver = false;
    const ending = (async () => {
      while (!isOver) {
        await one.database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dundun announcements'",
        );
        await pause(20);
      }
    })();
    const all = Array.from({ length: 10 }, (_, n) => changed(`${n}`));
    for (const announcement of all) await one.announcements.announce(announcement);
    isOver = true;
    await ending;
    assert.deepEqual(two.heard, all);
  });

  test('one in a form that is not known is not passed over: its process is told that it must end', async () => {
    const [before] = await one.database.query<{ followed: number }>("SELECT followed FROM node WHERE id = 'two'");
    const add = (body: string, format: number) =>
      one.database.query("INSERT INTO announcement (node, body, format) VALUES ('one', $1, $2)", [body, format]);
    await add(JSON.stringify(changed('later')), 2);
    const unknown = one.announcements.announce(changed('behind'));
    await assert.rejects(unknown, { code: 'storage' });
    assert.match(String(two.unreadable), /a change of version 2, which this release does not know/);
    assert.deepEqual(two.heard, []);
    assert.deepEqual(await one.database.query("SELECT followed FROM node WHERE id = 'two'"), [before]);
    await one.database.query('DELETE FROM announcement');
  });

  test('nobody waits for a process that is dead, and one that lives and does not answer is told of', async () => {
    two.take = () => new Promise(() => {});
    await assert.rejects(one.announcements.announce(changed('d')), { code: 'storage', message: /another server/ });
    await one.database.query("UPDATE node SET renewed = now() - interval '1 hour' WHERE id = 'two'");
    await one.announcements.announce(changed('e'));
    await renew();
  });
});

suite('announcements at a standby', { skip: withoutPostgres }, () => {
  test('are listened for once it is the primary, and until then no connection is left behind', async (t) => {
    const primary = await PostgresServer.start();
    const url = await primary.createDatabase();
    const standby = await PostgresServer.startStandby(primary);
    const listener = new Process(standby.url(new URL(url).pathname.slice(1)), 'listener');
    t.after(async () => {
      await listener.close();
      for (const server of [primary, standby]) server.remove();
    });
    const connections = async (which = 'true') => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'dundun announcements' AND ${which}`;
      return (await standby.query(standby.url('postgres', 'postgres'), sql)).length;
    };
    const sessions = async () => {
      const sql = 'SELECT sessions FROM pg_stat_database WHERE datname = current_database()';
      const [row] = await listener.database.query<{ sessions: number }>(sql);
      return row?.sessions ?? 0;
    };
    listener.listen();
    // It refuses each attempt.
    await until(async () => (await sessions()) > 20);
    assert.ok((await connections()) <= 2, `${await connections()} connections`);
    await standby.promote();
    await until(async () => (await connections("query LIKE 'LISTEN%'")) === 1);
    assert.ok((await connections()) <= 2);
  });
});
