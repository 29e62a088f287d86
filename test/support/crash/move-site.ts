// A move between a folder and a database that is cut off again and again: starts `dundun move`, brings it trouble, runs it to its end, and
// compares what is there then with all that was pushed. Used by test/storage/move-crash.process.test.ts.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { SeededRandom } from '../dice.ts';
import { at } from '../moved-answers.ts';
import type { PostgresServer } from '../postgres.ts';
import {
  call,
  type Dundun,
  login,
  makeFolder,
  Running,
  readValues,
  runVerb,
  type Settings,
  startDundun,
  startRefused,
  startVerb,
  withLimits,
} from '../process.ts';
import { until } from '../until.ts';
import { LossyDisk, withoutPowerCuts } from './lossy-disk.ts';
import type { Loss } from './power-cut.ts';

export type Direction = 'a folder' | 'a database';
export type Trouble = 'kill' | 'stop' | 'database';

/** Seals at once and all the time, into many chunks. */
const tight = { sealRowsMin: 500, sealRowsMax: 500, sealQuietRowsMin: 1, sealQuietMs: 50, chunkDatapointsWanted: 64 };
/** Values that are hardly compressed, so that chunks are copied in several steps. */
const texts = { sensor: 'text', pushes: 24, values: 1_000, bytes: 225 };
const numbers = { sensors: ['s0', 's1', 's2', 's3'], values: 2_000 };
/** Within so many milliseconds a move is troubled, and within so many steps on the disk, as a power of two; less where it had ended by then. */
const within = { ms: 3_500, power: 10 };

export class MoveSite {
  readonly #direction: Direction;
  readonly #postgres: PostgresServer;
  readonly #random: SeededRandom;
  /** By sensor, in order. */
  readonly #pushed = new Map<string, unknown[]>();
  #place = '';
  #disk: LossyDisk | undefined;
  #url = '';
  #within = within;
  /** What came about: for the report of a test. */
  readonly counts = { kills: 0, killsByStep: 0, powerCuts: 0, sectorsLost: 0, moves: 0, served: 0, refused: 0 };

  constructor(parts: {
    readonly direction: Direction;
    readonly postgres: PostgresServer;
    readonly random: SeededRandom;
  }) {
    this.#direction = parts.direction;
    this.#postgres = parts.postgres;
    this.#random = parts.random;
  }

  get #folder(): string {
    return join(this.#place, 'data');
  }

  get #ofFolder(): Settings {
    return { DUNDUN_DATA_DIR: this.#folder, ...this.#disk?.settings };
  }

  get #ofDatabase(): Settings {
    return { DUNDUN_DATABASE_URL: this.#url };
  }

  get #ofSource(): Settings {
    return this.#direction === 'a folder' ? this.#ofDatabase : this.#ofFolder;
  }

  get #ofTarget(): Settings {
    return this.#direction === 'a folder' ? this.#ofFolder : this.#ofDatabase;
  }

  /** Fills the place from which is moved. */
  async fill(): Promise<void> {
    this.#takePlace();
    this.#url = await this.#postgres.createDatabase();
    const dundun = await this.#startSource();
    const token = String(await login(dundun));
    const sensors = [...numbers.sensors, texts.sensor].map((id) => ({ id }));
    const made = await call(dundun, '/api/v2/devices', { token, json: { id: 'd', visibility: 'public', sensors } });
    assert.ok(made.ok, await made.text());
    for (const sensor of numbers.sensors) await this.#push(dundun, { sensor, token, count: numbers.values });
    for (let n = 0; n < texts.pushes; n++)
      await this.#push(dundun, { sensor: texts.sensor, token, count: texts.values });
    await dundun.stop();
  }

  /** @returns whether the move has come to its end nevertheless. */
  async bring(trouble: Trouble): Promise<boolean> {
    // It was killed between its last step and its last word: there is nothing left to trouble.
    if (await this.#isOver()) await this.finish({ isTold: false });
    if (trouble === 'kill') return this.#kill();
    const move = this.#startMove();
    const ended = move.exit;
    await Promise.race([ended, pause(this.#random.between(0, this.#within.ms))]);
    if (trouble === 'stop') {
      move.child.kill('SIGSTOP');
      await pause(this.#random.between(200, 3_000));
      move.child.kill('SIGCONT');
      assert.equal((await ended).code, 0, move.stderr);
    } else {
      await this.#postgres.stopImmediately();
      await this.#postgres.run();
      const { code } = await ended;
      assert.ok(code === 0 || code === 1, `${code}: ${move.stderr}`);
      // A sentence, not where in the code it was.
      if (code === 1) assert.match(move.stderr, /^(?!.*\n\s+at )/s);
    }
    return isMoved(move);
  }

  /** At some moment, or as it takes some step on the disk of the folder, with which the power may fail. */
  async #kill(): Promise<boolean> {
    const isByStep = this.#disk !== undefined && this.#random.oneIn(2);
    if (isByStep) this.#disk?.killAfter(this.#random.between(1, 2 ** this.#random.between(1, this.#within.power + 1)));
    const move = this.#startMove();
    await (isByStep ? move.exit : Promise.race([move.exit, pause(this.#random.between(300, this.#within.ms))]));
    const { signal } = await move.stop('SIGKILL');
    this.#disk?.killAfter(0);
    const { ms, power } = this.#within;
    if (signal === 'SIGKILL') this.counts.kills += 1;
    else this.#within = isByStep ? { ms, power: Math.max(1, power - 2) } : { ms: Math.max(600, 0.7 * ms), power };
    if (signal === 'SIGKILL' && isByStep) this.counts.killsByStep += 1;
    if (this.#random.oneIn(2)) this.#cutPower();
    return isMoved(move);
  }

  /**
   * A move to a database is killed between its note in the folder and the disk's having the note's name. @returns false where it
   * has not come that far.
   */
  async cutOffBehindNote(): Promise<boolean> {
    const note = join(this.#folder, 'moved');
    // The move waits for its last step, of which this is in the way.
    const holder = new pg.Client(this.#url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE chunk IN ACCESS SHARE MODE');
    const move = this.#startMove();
    await Promise.race([move.exit, until(() => existsSync(note))]);
    await move.stop('SIGKILL');
    await holder.end();
    const isCutOff = existsSync(note) && (await this.#isHalf());
    // As it was before the name was synced.
    const script = `const { fsyncSync, openSync, renameSync } = require('node:fs');
      const [note, folder] = process.argv.slice(1);
      renameSync(note, note + '.new');
      fsyncSync(openSync(folder, 'r'));
      renameSync(note + '.new', note);`;
    const renaming = new Running([process.execPath, '-e', script, note, this.#folder], {
      settings: this.#disk?.settings ?? {},
    });
    assert.equal((await renaming.exit).code, 0, renaming.stderr);
    return isCutOff;
  }

  /** What is half moved is no place to start a server on, and where it comes from goes on serving. */
  async lookBetween(): Promise<void> {
    if (this.#random.oneIn(2) && (await this.#isHalf())) {
      const refused = await startRefused(this.#options(this.#ofTarget));
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /has not come to its end/);
      this.counts.refused += 1;
    }
    if (this.#random.oneIn(2) || (await this.#isNotedAsMoved())) return;
    const dundun = await this.#startSource();
    const token = String(await login(dundun));
    const sensor = numbers.sensors[this.#random.between(0, numbers.sensors.length)] as string;
    await this.#push(dundun, { sensor, token, count: this.#random.between(1, 600) });
    await this.#compare(dundun, [sensor]);
    await dundun.stop();
    this.counts.served += 1;
  }

  /**
   * Runs the move to its end where it is not there, and compares; then all begins anew with another target.
   * @param isTold whether a move has said that it came to its end: until then the power may take more with it.
   * @param loss what the power takes with it at the end.
   */
  async finish({ isTold, loss }: { readonly isTold: boolean; readonly loss?: Loss }): Promise<void> {
    if (!isTold) this.#cutPower();
    if (!(await this.#isOver())) {
      const move = this.#startMove();
      const { code } = await move.exit;
      assert.equal(code, 0, move.stderr);
      assert.ok(isMoved(move), move.stdout);
    }
    // Whoever is told that all is moved may switch the machine off.
    this.#cutPower(loss);
    const refused = await startRefused(this.#options(this.#ofSource));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /were moved to/);
    if (this.#direction === 'a folder') {
      const checked = await runVerb(['check', this.#folder], { settings: this.#ofFolder });
      assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    }
    const dundun = await startDundun(this.#options(this.#ofTarget));
    await this.#compare(dundun, [...this.#pushed.keys()]);
    await dundun.stop();
    this.counts.moves += 1;
    await this.#beginAnew();
  }

  async #beginAnew(): Promise<void> {
    if (this.#direction === 'a folder') {
      await this.#postgres.query(this.#url, 'DROP TABLE moved');
      this.#takePlace();
    } else {
      await this.#postgres.dropDatabase(this.#url);
      rmSync(join(this.#folder, 'moved'));
      this.#url = await this.#postgres.createDatabase();
    }
  }

  #takePlace(): void {
    if (this.#place !== '') rmSync(this.#folder, { recursive: true, force: true });
    this.#place = makeFolder();
    this.#disk = withoutPowerCuts === false ? new LossyDisk(this.#place) : undefined;
  }

  #cutPower(loss?: Loss): void {
    if (this.#disk === undefined) return;
    const { sectorsLost } = this.#disk.cut(this.#random, loss);
    this.counts.powerCuts += 1;
    this.counts.sectorsLost += sectorsLost;
  }

  #startMove(): Running {
    const to = this.#direction === 'a folder' ? this.#folder : this.#url;
    return startVerb(['move', '--to', to], { settings: { ...this.#ofSource, ...this.#disk?.settings } });
  }

  #startSource(): Promise<Dundun> {
    return startDundun(this.#options(this.#ofSource));
  }

  #options(settings: Settings) {
    return { ...withLimits(tight, settings), folder: this.#folder };
  }

  async #push(
    dundun: Dundun,
    { sensor, token, count }: { readonly sensor: string; readonly token: string; readonly count: number },
  ): Promise<void> {
    const before = this.#pushed.get(sensor) ?? [];
    const value = (n: number) => (sensor === texts.sensor ? randomBytes(texts.bytes).toString('base64') : n);
    const values = Array.from({ length: count }, (_, n) => value(before.length + n));
    const answer = await call(dundun, `/api/v2/devices/d/sensors/${sensor}/values`, {
      token,
      json: values.map((each, n) => ({ value: each, timestamp: at(before.length + n) })),
    });
    assert.ok(answer.ok, await answer.text());
    this.#pushed.set(sensor, [...before, ...values]);
  }

  /** Everything that was pushed is there once, in its order, and nothing else. */
  async #compare(dundun: Dundun, sensors: readonly string[]): Promise<void> {
    for (const sensor of sensors) {
      const pushed = this.#pushed.get(sensor) ?? [];
      const found = (await readValues(dundun, 'd', sensor, `lastN=${pushed.length + 10}`)).reverse();
      assert.equal(found.length, pushed.length, sensor);
      const first = found.findIndex((value, n) => value !== pushed[n]);
      assert.equal(first, -1, `${sensor}: ${found[first]} in place of ${pushed[first]}`);
    }
  }

  #has(table: string): Promise<boolean> {
    const sql = `SELECT to_regclass('${table}') IS NOT NULL AS found`;
    return this.#postgres.query(this.#url, sql).then(([row]) => row?.['found'] === true || row?.['found'] === 1);
  }

  async #isHalf(): Promise<boolean> {
    if (this.#direction === 'a folder') return existsSync(join(this.#folder, 'dundun.sqlite.moving'));
    return this.#has('moving');
  }

  async #isNotedAsMoved(): Promise<boolean> {
    return this.#direction === 'a folder' ? this.#has('moved') : existsSync(join(this.#folder, 'moved'));
  }

  async #isOver(): Promise<boolean> {
    return (await this.#isNotedAsMoved()) && !(await this.#isHalf());
  }
}

function isMoved({ stdout }: Running): boolean {
  return /^Moved /m.test(stdout);
}
