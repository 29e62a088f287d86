// A data folder on a disk that loses unsynced writes when the power fails: a library preloaded into the process
// (test/power-loss/power-loss.c) records writes and syncs, and a simulated power failure after a kill undoes some
// unsynced writes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, realpathSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { SeededRandom } from '../dice.ts';
import { makeFolder, root, type Settings } from '../process.ts';
import { chooseLoss, cutPower, type Loss, type Toll } from './power-cut.ts';

const compiler = process.env['DUNDUN_TEST_CC'];

/** Why there can be no power cuts here, for `skip`. */
export const withoutPowerCuts: string | false =
  process.platform !== 'linux' ? 'power cuts need Linux' : compiler === undefined && 'the C compiler is missing';

let library: string | undefined;

function buildLibrary(): string {
  const output = join(makeFolder(), 'power-loss.so');
  const source = join(root, 'test/power-loss/power-loss.c');
  const args = ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-pthread', '-o', output, source];
  const { status, stderr } = spawnSync(compiler ?? 'cc', args, { encoding: 'utf8' });
  assert.equal(status, 0, `power-loss.c does not compile (Debian: gcc and libc6-dev):\n${stderr}`);
  return output;
}

export class LossyDisk {
  readonly #folder: string;
  readonly #journal = makeFolder();

  /** The folder above this one exists. */
  constructor(folder: string) {
    this.#folder = join(realpathSync(dirname(folder)), basename(folder));
  }

  /** For the environment of every process that writes to the folder. */
  get settings(): Settings {
    library ??= buildLibrary();
    return { LD_PRELOAD: library, POWER_LOSS_FOLDER: this.#folder, POWER_LOSS_JOURNAL: this.#journal };
  }

  /** Has the process killed that takes the last of so many steps, a change or the begin or end of a sync, from now on. */
  killAfter(steps: number): void {
    const countdown = openSync(join(this.#journal, 'countdown'), constants.O_RDWR | constants.O_CREAT);
    writeSync(countdown, new BigInt64Array([BigInt(steps)]));
    closeSync(countdown);
  }

  /** The power fails, after the processes were killed. What was not synced counts on, until then, over all of them. */
  cut(random: SeededRandom, loss: Loss = chooseLoss(random)): Toll {
    return cutPower({ folder: this.#folder, journal: this.#journal, random, loss });
  }
}
