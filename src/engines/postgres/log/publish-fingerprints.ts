// Stores the fingerprints of MQTT publishes, by which repeats are recognised after a restart: in the row of the log that has
// their datapoints, and from when that is sealed in the table `mqtt_fingerprint` (decision 29).
import { limits } from '../../../config/limits.ts';
import type { FingerprintTrim } from '../../../domain/ports/commit-log.ts';
import { JoinedRecords, toBytes, toWords } from '../../shared/log/fingerprint-records.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

interface Row {
  readonly id: number;
  readonly records: Buffer;
}

/** Adds rows of records, in their order. */
export const addFingerprints =
  'INSERT INTO mqtt_fingerprint (records) SELECT records FROM unnest(CAST($1 AS bytea[])) WITH ORDINALITY AS one(records, n) ORDER BY n';

/** What is stored in the table, oldest first. */
export async function* listFingerprints(database: PostgresDatabase): AsyncGenerator<Uint32Array> {
  for (let after = 0; ; ) {
    const rows = await database.query<Row>(
      'SELECT id, records FROM mqtt_fingerprint WHERE id > $1 ORDER BY id LIMIT $2',
      [after, limits.duplicateRowsStep],
    );
    for (const { id, records } of rows) {
      after = id;
      yield toWords(records);
    }
    if (rows.length < limits.duplicateRowsStep) return;
  }
}

/**
 * Deletes records that are not needed any more, where the table takes more than `bytesMax`: takes the oldest rows away, and
 * adds what of them is still needed at the end. Records keep their meaning: only the last record of a session or packet id
 * counts, a record is moved only if it is that last one, and newer records are in the log, which is read after this table.
 */
export async function trimFingerprints(
  database: PostgresDatabase,
  { bytesMax, retain }: FingerprintTrim,
): Promise<void> {
  const size =
    'SELECT coalesce(sum(octet_length(records)), 0) AS bytes, coalesce(max(id), 0) AS last FROM mqtt_fingerprint';
  const [{ bytes, last } = { bytes: 0, last: 0 }] = await database.query<{ bytes: number; last: number }>(size);
  for (let over = bytes - bytesMax; over > 0; ) {
    const oldest = 'SELECT id, records FROM mqtt_fingerprint WHERE id <= $1 ORDER BY id LIMIT $2';
    const rows = await database.query<Row>(oldest, [last, limits.duplicateRowsStep]);
    const end = rows.at(-1)?.id;
    if (end === undefined) return;
    const kept: Uint8Array[] = [];
    const joined = new JoinedRecords((records) => {
      kept.push(records);
      over += records.length;
    });
    for (const { records } of rows) {
      joined.add(toBytes(retain(toWords(records)) as Uint32Array<ArrayBuffer>));
      over -= records.length;
    }
    joined.end();
    await database.transaction(async (connection) => {
      const gone = connection.query('DELETE FROM mqtt_fingerprint WHERE id <= $1', [end]);
      await Promise.all([gone, connection.query(addFingerprints, [kept])]);
    });
  }
}
