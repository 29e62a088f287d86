// A folder that holds the half of a move: no command takes it for data, none mixes it with others, and a restore replaces it.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { moveData } from '../../../src/engines/open.ts';
import { createDatabase, sharedServer, withoutPostgres } from '../../support/postgres.ts';
import {
  call,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  startDundun,
  startRefused,
  type VerbOutcome,
} from '../../support/process.ts';

const notEnded = /move of data into the (folder|database) .*has not come to its end/;

suite('the half of a move', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  /** A backup of other data. */
  let backup: string;

  const run = (folder: string, ...args: string[]) => runVerb(args, { settings: { DUNDUN_DATA_DIR: folder } });
  const refused = ({ code, stderr, stdout }: VerbOutcome, why: RegExp) => {
    assert.ok(code === 1 || code === 2, `${code} ${stdout}`);
    assert.match(stderr, why);
  };
  const push = async (dundun: { readonly url: string }, device: string, value: number) => {
    const answer = await call(dundun, `/api/v2/devices/${device}/sensors/s/values`, { json: { value } });
    assert.ok(answer.ok, await answer.text());
  };
  const halfMoved = async () => {
    const folder = join(makeFolder(), 'half');
    const cut = (step: string) => {
      if (step === 'reading back') throw new Error('cut off');
    };
    await assert.rejects(moveData({ dataDir: '', databaseUrl: url, to: folder, onStep: cut }), /cut off/);
    return folder;
  };
  const move = (folder: string) =>
    runVerb(['move', '--to', folder], { settings: { DUNDUN_DATABASE_URL: url, DUNDUN_DATA_DIR: folder } });

  before(async () => {
    url = await createDatabase();
    const there = await startDundun({ settings: { DUNDUN_DATABASE_URL: url } });
    await makeDevice(there, 'moved', ['s']);
    await push(there, 'moved', 1);
    await there.stop();
    const other = await startDundun();
    await makeDevice(other, 'restored', ['s']);
    await push(other, 'restored', 2);
    await other.stop();
    backup = join(makeFolder(), 'backup');
    const made = await run(other.folder, 'backup', backup);
    assert.equal(made.code, 0, made.stderr);
  });

  test('is refused by every command that reads or writes a folder, and comes to its end afterwards', async () => {
    const folder = await halfMoved();
    refused(await startRefused({ folder }), notEnded);
    refused(await run(folder, 'check', folder), notEnded);
    refused(await run(folder, 'check', '--forget-damaged'), notEnded);
    refused(await run(folder, 'backup', join(makeFolder(), 'none')), notEnded);
    refused(await run(folder, 'user', 'list'), notEnded);
    refused(await run(folder, 'move', '--to', await createDatabase()), notEnded);
    refused(await run(folder, 'restore', backup), /is not empty .*moving.* --replace/);
    const moved = await move(folder);
    assert.match(moved.stdout, /^Moved /, moved.stderr);
    const back = await startDundun({ folder });
    assert.deepEqual(await readValues(back, 'moved', 's'), [1]);
    await back.stop();
  });
});

suite('a folder that holds what is not of a move', { skip: withoutPostgres }, () => {
  test('is refused with the name of it, before a move has begun and after, and nothing is put there', async () => {
    const settings = { DUNDUN_DATABASE_URL: await createDatabase() };
    const folder = makeFolder();
    const move = () => runVerb(['move', '--to', folder], { settings });
    writeFileSync(join(folder, 'thesis.pdf'), 'years of work');
    const { code, stdout, stderr } = await move();
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^dundun: The folder .* has "thesis\.pdf", which is no part of a move\. Take an empty folder\.\n$/,
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name !== 'lock'),
      ['thesis.pdf'],
    );
    rmSync(join(folder, 'thesis.pdf'));
    // An empty disk that is mounted there has this.
    mkdirSync(join(folder, 'lost+found'));
    assert.match((await move()).stdout, /^Moved /);
  });
});

suite('a restore over what was moved', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let backup: string;
  const run = (folder: string, ...args: string[]) => runVerb(args, { settings: { DUNDUN_DATA_DIR: folder } });
  const done = ({ code, stdout, stderr }: VerbOutcome) => assert.equal(code, 0, stdout + stderr);
  const devicesOf = async (folder: string) => {
    const dundun = await startDundun({ folder });
    const devices = (await (await call(dundun, '/api/v2/devices')).json()) as { id: string }[];
    await dundun.stop();
    return devices.map(({ id }) => id);
  };
  const filled = async (device: string) => {
    const dundun = await startDundun();
    await makeDevice(dundun, device, ['s']);
    await dundun.stop();
    return dundun.folder;
  };

  before(async () => {
    backup = join(makeFolder(), 'backup');
    done(await run(await filled('restored'), 'backup', backup));
  });

  test('leaves nothing of the half of a move, which is refused there from then on', async () => {
    const url = await createDatabase();
    const settings = { DUNDUN_DATABASE_URL: url };
    const there = await startDundun({ settings });
    await makeDevice(there, 'moved', ['s']);
    await there.stop();
    const folder = join(makeFolder(), 'half');
    const cut = (step: string) => {
      if (step === 'reading back' || step === 'copying records') throw new Error('cut off');
    };
    await assert.rejects(moveData({ dataDir: '', databaseUrl: url, to: folder, onStep: cut }), /cut off/);
    // As a restore leaves it that was cut off over the half.
    const restoring = join(folder, 'dundun.sqlite.restoring');
    writeFileSync(restoring, '');
    for (const args of [
      ['check', folder],
      ['user', 'list'],
    ])
      assert.match((await run(folder, ...args)).stderr, /A restore into the data folder .* did not come to its end/);
    const move = () => runVerb(['move', '--to', folder], { settings });
    assert.match((await move()).stderr, /A restore into the data folder .* did not come to its end/);
    done(await run(folder, 'restore', backup, '--replace'));
    assert.deepEqual(
      readdirSync(folder).filter((name) => /moving|restoring/.test(name)),
      [],
    );
    assert.deepEqual(await devicesOf(folder), ['restored']);
    assert.match((await move()).stderr, /has data already/);
    done(await run(folder, 'check', folder));
    // The database goes on.
    const again = await startDundun({ settings });
    await again.stop();
  });

  test('is one on which a server starts, though the data before it were moved to a database', async () => {
    const folder = await filled('moved');
    done(await run(folder, 'move', '--to', await createDatabase()));
    assert.match((await startRefused({ folder })).stderr, /were moved to PostgreSQL/);
    done(await run(folder, 'restore', backup, '--replace'));
    assert.deepEqual(await devicesOf(folder), ['restored']);
  });

  test('is not needed where a move to a database was cut off behind its note in the folder: run again it ends', async () => {
    const folder = await filled('moved');
    const url = await createDatabase();
    const move = () => run(folder, 'move', '--to', url);
    done(await move());
    // As if it had been cut off before the database was told; and, first, with the note of another move.
    const [, mark = ''] = readFileSync(join(folder, 'moved'), 'utf8').split('\n');
    const server = await sharedServer();
    await server.query(
      url,
      'CREATE TABLE moving (one integer, source text, mark text, sensors bigint, datapoints bigint)',
    );
    await server.query(url, `INSERT INTO moving VALUES (1, '${folder}', 'another', 1, 5)`);
    assert.match((await move()).stderr, /were moved to PostgreSQL/);
    await server.query(url, `UPDATE moving SET mark = '${mark}'`);
    const settings = { DUNDUN_DATABASE_URL: url };
    assert.match((await startRefused({ settings })).stderr, notEnded);
    assert.match((await move()).stdout, /^Moved .*: 5 datapoints of 1 sensors/);
    const there = await startDundun({ settings });
    await there.stop();
    assert.match((await move()).stderr, /were moved to PostgreSQL/);
  });
});
