// The check of the write-ahead log. It comes first and apart from the others, because SQLite drops what is behind a damaged
// frame as soon as it opens the database; and what was lost before is not in the database.
import { existsSync } from 'node:fs';
import type { CheckReport, Finding } from '../../../domain/ports/maintenance.ts';
import { secureWalIfUnused } from '../database/wal/secure-wal.ts';
import { describeWalDamage, listWalDamages } from '../database/wal/wal-damages.ts';

const adviceOnMedium = 'Look for the cause: the disk, its cable, the memory of the machine.';
const adviceOnLoss =
  'Have devices that keep their datapoints send them again, or restore a backup; then `dundun check --forget-damaged`.';

export function checkWal(folder: string): CheckReport {
  const startMs = performance.now();
  const findings: Finding[] = [];
  if (existsSync(folder)) {
    for (const what of secureWalIfUnused(folder)) findings.push({ what, advice: adviceOnMedium });
    for (const damage of listWalDamages(folder))
      findings.push({ what: describeWalDamage(damage), advice: adviceOnLoss });
  }
  return {
    name: 'write-ahead log',
    asks: 'no acknowledged commit is lost behind a damaged part of the write-ahead log',
    findings,
    elapsedMs: Math.round(performance.now() - startMs),
  };
}
