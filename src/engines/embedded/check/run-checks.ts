// Runs all checks on a database and collects their findings. Called by `dundun check`, and by backup and restore on
// their copies. Only reads. Each check has a read transaction of its own, so that the write-ahead log of a running
// server can be checkpointed between two checks.
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { CheckReport, Finding } from '../../../domain/ports/maintenance.ts';
import { formOf } from '../database/migrate.ts';
import { adviceOnDamage, type Check } from './check.ts';
import { datapointChecks } from './datapoint-checks.ts';
import { logChecks } from './log-checks.ts';
import { registryChecks } from './registry-checks.ts';
import { structureChecks } from './structure-checks.ts';

export interface CheckOptions {
  /** An empty database of this release. */
  readonly example: DatabaseSync;
  readonly onStart?: (check: Check, place: { readonly number: number; readonly count: number }) => void;
}

const checks: readonly Check[] = [...structureChecks, ...registryChecks, ...logChecks, ...datapointChecks];

/** Runs all checks that fit the release that wrote the database. */
export function runChecks(database: DatabaseSync, { example, onStart }: CheckOptions): CheckReport[] {
  const isOlder = formOf(database).form === 'older';
  const fitting = checks.filter(({ isForAnyForm }) => isForAnyForm === true || !isOlder);
  return fitting.map((check, index) => {
    onStart?.(check, { number: index + 1, count: fitting.length });
    const startMs = performance.now();
    const findings = findAll(check, database, example);
    return { name: check.name, asks: check.asks, findings, elapsedMs: Math.round(performance.now() - startMs) };
  });
}

function findAll(check: Check, database: DatabaseSync, example: DatabaseSync): Finding[] {
  const findings: Finding[] = [];
  database.exec('BEGIN');
  try {
    for (const finding of check.run(database, example)) {
      if (findings.length === limits.checkFindingsMax) {
        findings.push({ what: `There is more than the ${findings.length} that are told.`, advice: finding.advice });
        break;
      }
      findings.push(named(finding, database));
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    findings.push({ what: `Reading stopped: ${(error as Error).message}.`, advice: adviceOnDamage });
  } finally {
    if (database.isTransaction) database.exec('ROLLBACK');
  }
  return findings;
}

/** Adds the ids of device and sensor, which people know, to the sensor's key. */
function named(finding: Finding, database: DatabaseSync): Finding {
  if (finding.where?.sensor === undefined) return finding;
  const ids = database
    .prepare(
      'SELECT device.id AS deviceId, sensor.id AS sensorId FROM sensor JOIN device ON device.key = sensor.device WHERE sensor.key = ?',
    )
    .get(finding.where.sensor);
  return { ...finding, where: { ...finding.where, ...ids } };
}

/**
 * True where SQLite says that the file itself is broken (SQLITE_CORRUPT, SQLITE_NOTADB), false for errors of access.
 */
export function isDamage(error: unknown): boolean {
  return [11, 26].includes(((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff);
}
