// Imported before the service in crash tests (`node --import`), in each of its threads: kills the process during the
// work that the test names, which a random moment does not hit reliably. It recognises the writer's work by its SQL;
// the test orders a kill by a file (crash-site.ts), which is renamed when the kill happens.
import { closeSync, existsSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What a kill can be ordered in: a transaction that writes chunks, replaces small ones, and so on. */
export const deeds = ['sealing', 'merging', 'clearing', 'retention', 'purging', 'firing', 'removing'] as const;
export type KillPoint = (typeof deeds)[number];

/** What the file holds. */
export interface KillOrder {
  readonly deed: KillPoint;
  /** Statements of that kind to let pass. */
  readonly skip: number;
  /** Steps on the lossy disk until the kill; 0: at once, before the statement. */
  readonly steps: number;
}

const file = process.env['DUNDUN_TEST_KILL_ORDER'];
const journal = process.env['POWER_LOSS_JOURNAL'];
let seen = 0;

function deedOf(sql: string): KillPoint | undefined {
  if (/^INSERT INTO chunk .*VALUES/s.test(sql)) return 'sealing';
  if (/^INSERT INTO chunk .*EXISTS/s.test(sql)) return 'retention';
  if (sql === 'DELETE FROM chunk WHERE id = ?') return 'merging';
  if (sql === 'DELETE FROM chunk WHERE id = ? AND count = ?') return 'retention';
  if (sql.startsWith('UPDATE log SET rows') || sql === 'DELETE FROM chunk WHERE id = ?1') return 'removing';
  if (sql.startsWith('DELETE FROM log ')) return 'clearing';
  if (/^INSERT INTO message\s/.test(sql)) return 'firing';
  return sql.startsWith('DELETE FROM chunk WHERE id IN') ? 'purging' : undefined;
}

function meet(deed: KillPoint | undefined): void {
  if (deed === undefined || file === undefined || !existsSync(file)) return;
  const order = JSON.parse(readFileSync(file, 'utf8')) as KillOrder;
  if (order.deed !== deed || seen++ < order.skip) return;
  renameSync(file, `${file}.met`);
  if (order.steps === 0 || journal === undefined) process.kill(process.pid, 'SIGKILL');
  else startCountdown(journal, order.steps);
}

/** As lossy-disk.ts does from outside. */
function startCountdown(folder: string, steps: number): void {
  const countdown = openSync(join(folder, 'countdown'), 'r+');
  writeSync(countdown, new BigInt64Array([BigInt(steps)]));
  closeSync(countdown);
}

if (file !== undefined) {
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    const statement = prepare.call(this, sql, ...rest);
    const { run } = statement;
    const watched = (...parameters: readonly unknown[]) => {
      meet(deedOf(sql));
      return Reflect.apply(run, statement, parameters);
    };
    return Object.assign(statement, { run: watched });
  };
}
