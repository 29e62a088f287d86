// What the command line does with data on PostgreSQL: its own programs make backups, restore them and check pages, so these
// are refused with their names.
import { Refusal } from '../../base/refusal.ts';
import type { DataLocation, Maintenance } from '../../domain/ports/maintenance.ts';

/** Whether the data are in a PostgreSQL database. */
export function isPostgres(data: DataLocation): boolean {
  return /^postgres(ql)?:\/\//.test(data);
}

const refuse = async (advice: string): Promise<never> => {
  throw new Refusal(
    'conflict',
    `The data are in PostgreSQL (DUNDUN_DATABASE_URL). ${advice} docs/operations.md says how.`,
  );
};

export const postgresMaintenance: Maintenance = {
  backUp: () => refuse('Make backups by its own programs: pg_dump, or pg_basebackup with an archive of its log.'),
  restore: () => refuse('Restore its own backups by its own programs: pg_restore, or the files of pg_basebackup.'),
  check: () => refuse('Its own programs check it: pg_amcheck, and checksums of pages (initdb --data-checksums).'),
  forgetDamaged: () => refuse('What cannot be read is told when it is read; restore a backup.'),
};
