// One data folder through many kills: starts servers on it, half of them with such small limits that background work
// is nearly always under way, kills them at random or during the work that the test names, sometimes with a power
// failure, a full disk or a wrong clock. Used by the crash tests.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { limits } from '../../../src/config/limits.ts';
import { query } from '../database.ts';
import type { SeededRandom } from '../dice.ts';
import {
  Dundun,
  makeFolder,
  type Running,
  runVerb,
  type ServeOptions,
  type Settings,
  startVerb,
  withImports,
  withLimits,
} from '../process.ts';
import { until } from '../until.ts';
import { deeds, type KillOrder, type KillPoint } from './kill-trigger.ts';
import { LossyDisk, withoutPowerCuts } from './lossy-disk.ts';
import type { Toll } from './power-cut.ts';
import { RoughMachine } from './rough-machine.ts';

/** Sealing at once and all the time, into small chunks that are put together and cut often; few pages before a checkpoint; purging and retention in many steps. */
const tight: Partial<Record<keyof typeof limits, number>> = {
  sealRowsMin: 500,
  sealRowsMax: 500,
  sealQuietRowsMin: 1,
  sealQuietMs: 50,
  headRowsMax: 5_000,
  purgeChunksMax: 1,
  clearRowsStep: 20,
  clearDatapointsStep: 200,
  chunkDatapointsWanted: 64,
  sealUnitBytes: 500,
  retentionRoundMs: 200,
  retentionRetryMs: 50,
  retentionChunksMax: 2,
  editStepPieces: 3,
  walPagesMax: 100,
};

/** The reserve is whole soon after a start. */
const usual: typeof tight = { reserveStepMs: 5 };

interface KillOptions {
  readonly withinMs: number;
  /** Of the disk; some ten for a commit. */
  readonly withinSteps: number;
  /** When it is killed although it has not taken that many. */
  readonly notAfter?: Promise<unknown>;
}

/** What a kill is to fall into; undefined: any moment. */
export type Aim = KillPoint | 'backup' | 'full disk' | 'wrong clock' | undefined;
/** What comes about by itself once it is ordered. */
export type Ordered = Exclude<Aim, 'full disk' | 'wrong clock' | undefined>;

/** Milliseconds in which it must come to that. */
const aimMsMax = 60_000;
/** Of these, milliseconds for which it may pass over some. */
const skipMsMax = 10_000;

function wait(ms: number): Promise<unknown> {
  return pause(ms, undefined, { ref: false });
}

export class CrashSite {
  /** What is made in it, the data folder and backups, is on the disk that loses power. */
  readonly #place = makeFolder();
  readonly folder = join(this.#place, 'data');
  /** What each power cut took. */
  readonly tolls: Toll[] = [];
  readonly #backupFile = join(this.#place, 'backup');
  readonly #orderFile = join(makeFolder(), 'order');
  readonly #met = new Map<Exclude<Aim, undefined>, number>();
  #backup: Running | undefined;
  #hasLostPower = false;
  /** When the backup that was found sound was made. */
  #soundBackupMs: number | undefined;
  #kills = 0;
  readonly #random: SeededRandom;
  readonly #settings: Settings;
  readonly #disk = withoutPowerCuts === false ? new LossyDisk(this.#place) : undefined;
  readonly machine = new RoughMachine(this.folder);

  constructor(random: SeededRandom, settings: Settings = {}) {
    this.#random = random;
    this.#settings = settings;
  }

  /** `isTight`: with little room; by chance where it is not said. */
  async start(isTight = this.#mayBeTight()): Promise<Dundun> {
    const dundun = new Dundun(this.#options(isTight));
    await dundun.ready;
    return dundun;
  }

  async killWhileStarting(): Promise<void> {
    const dundun = new Dundun(this.#options(this.#mayBeTight()));
    await this.kill(dundun, { withinMs: 1500, withinSteps: 350, notAfter: dundun.ready });
  }

  /**
   * Kills the server at some moment, or as it takes some step on the disk, which falls between the writes of a commit
   * far more often than a moment does; the power may fail with it.
   */
  async kill(server: Dundun, options: KillOptions): Promise<void> {
    const { withinMs, withinSteps, notAfter = wait(4 * withinMs) } = options;
    const isCounted = this.#disk !== undefined && this.#random.oneIn(2);
    if (isCounted) this.#disk?.killAfter(this.#random.between(1, withinSteps));
    const late = isCounted ? notAfter : wait(this.#random.between(30, withinMs));
    await Promise.race([server.exit, late.catch(() => {})]);
    await this.#endAll(server, { losesPower: this.#random.oneIn(2) });
  }

  /** Kills the server, which must have little room, in the midst of that; how often it came to it is counted. */
  async killIn(aim: Ordered, server: Dundun): Promise<void> {
    if (aim === 'backup') await this.#untilBackup(server);
    else await this.#untilKilled(aim, server);
    // A backup has names to lose, of files that were made and not brought to the disk.
    await this.#endAll(server, { losesPower: aim === 'backup' || this.#random.oneIn(2) });
  }

  async #untilKilled(deed: KillPoint, server: Dundun): Promise<void> {
    const steps = this.#disk !== undefined && this.#random.oneIn(2) ? this.#random.between(1, 9) : 0;
    this.#order({ deed, skip: this.#random.between(0, 20), steps });
    await Promise.race([server.exit, wait(skipMsMax)]);
    // It may not come to so many in its time: then the next it comes to will do.
    if (existsSync(this.#orderFile)) this.#order({ deed, skip: 0, steps });
    await Promise.race([server.exit, wait(aimMsMax - skipMsMax)]);
    if (existsSync(`${this.#orderFile}.met`)) this.#count(deed);
    for (const name of [this.#orderFile, `${this.#orderFile}.met`]) rmSync(name, { force: true });
  }

  #order(order: KillOrder): void {
    writeFileSync(`${this.#orderFile}.new`, JSON.stringify(order));
    renameSync(`${this.#orderFile}.new`, this.#orderFile);
  }

  /** A small folder may be backed up before the kill: then once more, with less time. */
  async #untilBackup(server: Dundun): Promise<void> {
    // At any moment of what the server does, so that the kill falls into any.
    await pause(this.#random.between(30, 1000));
    const isUnderWay = () => readdirSync(this.#place).some((name) => name.endsWith('.partial'));
    for (let msMax = 150; msMax >= 1 && !isUnderWay(); msMax = Math.floor(msMax / 2)) {
      // One at a time: the kill ends the last alone.
      await this.#backup?.stop('SIGKILL');
      const backup = this.startBackup();
      let hasEnded = false;
      void backup.exit.then(() => {
        hasEnded = true;
      });
      await until(() => isUnderWay() || hasEnded, { everyMs: 1 });
      await Promise.race([server.exit, pause(this.#random.between(0, msMax))]);
    }
    if (isUnderWay()) this.#count('backup');
  }

  #count(aim: Exclude<Aim, undefined>): void {
    this.#met.set(aim, (this.#met.get(aim) ?? 0) + 1);
  }

  /** How many kills fell into that. */
  killsIn(aim: Exclude<Aim, undefined>): number {
    return this.#met.get(aim) ?? 0;
  }

  async #endAll(server: Dundun, { losesPower }: { readonly losesPower: boolean }): Promise<void> {
    await Promise.all([server.stop('SIGKILL'), this.#backup?.stop('SIGKILL')]);
    this.#backup = undefined;
    if (this.machine.isFull) this.#count('full disk');
    if (this.machine.isMoved) this.#count('wrong clock');
    this.#disk?.killAfter(0);
    this.#kills += 1;
    this.#hasLostPower = this.#disk !== undefined && losesPower;
    if (this.#disk !== undefined && losesPower) this.tolls.push(this.#disk.cut(this.#random));
    this.machine.settle();
  }

  /** Kills so far, those while it started included. */
  get kills(): number {
    return this.#kills;
  }

  /** Whether the power failed with the last kill. */
  get hasLostPower(): boolean {
    return this.#hasLostPower;
  }

  /** Has a backup made beside the server; the next kill ends it as well. */
  startBackup(): Running {
    const settings = { DUNDUN_DATA_DIR: this.folder, ...this.#disk?.settings };
    this.#backup = startVerb(['backup', this.#backupFile, '--force'], { settings });
    return this.#backup;
  }

  /** `dundun check` finds nothing in the folder, nor in a backup where one came to its end. */
  async assertSound(): Promise<void> {
    const backupMs = statSync(this.#backupFile, { throwIfNoEntry: false })?.mtimeMs;
    const isNewBackup = backupMs !== undefined && backupMs !== this.#soundBackupMs;
    for (const place of [this.folder, ...(isNewBackup ? [this.#backupFile] : [])].filter((path) => existsSync(path))) {
      const { code, stdout, stderr } = await runVerb(['check', place]);
      if (place === this.#backupFile) this.#soundBackupMs = backupMs;
      if (code === 0) continue;
      const again = await runVerb(['check', place]);
      const chunks = place === this.folder ? chunksNamedIn(place, stdout) : [];
      const cuts = JSON.stringify(this.tolls.at(-1));
      assert.fail(
        `${place}: ${stdout}${stderr}; once more: ${again.stdout}; chunks: ${JSON.stringify(chunks)}; power cuts: ${cuts}`,
      );
    }
  }

  /** For the report of a test: what there was to lose, and what was lost. */
  describeCuts(): string {
    if (withoutPowerCuts !== false) return `no power cuts: ${withoutPowerCuts}`;
    const sum = (of: keyof Omit<Toll, 'loss'>) => this.tolls.reduce((total, toll) => total + toll[of], 0);
    const torn = this.tolls.filter(({ sectors, sectorsLost }) => sectorsLost > 0 && sectorsLost < sectors).length;
    const names = `${sum('namesLost')} of ${sum('names')} changes of names`;
    return `${this.tolls.length} power cuts lost ${sum('sectorsLost')} of ${sum('sectors')} unsynced sectors, ${torn} of them a part, and ${names}`;
  }

  /** For the report of a test: what kills fell into. */
  describeKills(): string {
    const aims = [...deeds, 'backup', 'full disk', 'wrong clock'] as const;
    return `kills inside ${aims.map((aim) => `${aim}: ${this.killsIn(aim)}`).join(', ')}`;
  }

  /** With little room a clock is trusted at once, and a wrong one must not be. */
  #mayBeTight(): boolean {
    return this.#random.oneIn(2) && !this.machine.isMoved;
  }

  #options(isTight: boolean): ServeOptions {
    const { machine } = this;
    const preloaded = [machine.settings['LD_PRELOAD'], this.#disk?.settings['LD_PRELOAD']];
    const settings: Settings = {
      // Where the clock is not to be doubted for long, rounds that delete by age come within the test.
      DUNDUN_CLOCK_STEADY_MINUTES: isTight ? '0' : '5',
      ...this.#settings,
      ...this.#disk?.settings,
      ...machine.settings,
      LD_PRELOAD: preloaded.filter((library) => library !== undefined).join(':') || undefined,
      DUNDUN_TEST_KILL_ORDER: isTight ? this.#orderFile : undefined,
    };
    return {
      folder: this.folder,
      ...withLimits(isTight ? { ...usual, ...tight } : usual, settings),
      command: withImports('tight-limits.ts', 'crash/moved-clock.ts', ...(isTight ? ['crash/kill-trigger.ts'] : [])),
    };
  }
}

/** The rows of chunks that a finding is about: the folder is gone when the test has failed. */
function chunksNamedIn(folder: string, findings: string): Record<string, unknown>[] {
  return [...findings.matchAll(/sensor number (\d+), from (\S+) to (\S+)\)/g)].flatMap(([, sensor, from, to]) =>
    query(
      folder,
      `SELECT id, sensor, first, last, count, numbers, min, max, length(bytes) AS size, hex(substr(bytes, 1, 500)) AS bytes
       FROM chunk WHERE sensor = ${sensor} AND last >= ${Date.parse(from ?? '')} AND first <= ${Date.parse(to ?? '')} LIMIT 5`,
    ),
  );
}
