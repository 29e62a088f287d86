// Stores the fingerprints of MQTT publishes, by which repeats are recognised after a restart. They are stored in the log
// row of their datapoints, because a table of their own would cost each commit one more page (decision 20). When the row is
// deleted, they move to the table `mqtt_fingerprint`, those of many log rows in one row. Which of them are still needed is
// known to the main thread alone, which has the table trimmed now and then (decision 29).
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { FingerprintTrim } from '../../../domain/ports/commit-log.ts';
import { JoinedRecords, toBytes, toWords } from '../../shared/log/fingerprint-records.ts';
import type { DatabaseWriter, Statement } from '../database/database-writer.ts';

/** All stored records, oldest first. */
export function* listFingerprints(database: DatabaseSync): Generator<Uint32Array> {
  // In a transaction: what moves from the log to the table meanwhile would be missing.
  database.exec('BEGIN');
  try {
    for (const { records } of database.prepare('SELECT records FROM mqtt_fingerprint ORDER BY id').iterate())
      yield toWords(records as Uint8Array);
    const logged = 'SELECT fingerprints FROM log WHERE fingerprints IS NOT NULL ORDER BY first_seq';
    for (const { fingerprints } of database.prepare(logged).iterate()) yield toWords(fingerprints as Uint8Array);
  } finally {
    database.exec('COMMIT');
  }
}

const insertSql = 'INSERT INTO mqtt_fingerprint (records) VALUES (?)';

/** The writer thread's side. Call every method inside a transaction. */
export class PublishFingerprints {
  readonly #upTo: StatementSync;
  readonly #insert: StatementSync;

  constructor(database: DatabaseSync) {
    this.#upTo = database.prepare(
      'SELECT fingerprints FROM log WHERE first_seq <= ? AND fingerprints IS NOT NULL ORDER BY first_seq',
    );
    this.#insert = database.prepare(insertSql);
  }

  /** Stores records of a commit that has no log row. */
  add(records: Uint8Array): void {
    this.#insert.run(records);
  }

  /** Called before the log is deleted up to `seq`: moves the fingerprints to the table. */
  keep(seq: number): void {
    const joined = new JoinedRecords((records) => this.add(records));
    for (const { fingerprints } of this.#upTo.iterate(seq)) joined.add(fingerprints as Uint8Array);
    joined.end();
  }
}

/**
 * Deletes records that are not needed any more, where the table takes more than `bytesMax`: takes the oldest rows away,
 * and adds what of them is still needed at the end. Records keep their meaning: only the last record of a session or
 * packet id counts, a record is moved only if it is that last one, and newer records are in the log, which is read after
 * this table.
 */
export async function trimFingerprints(
  { reader, writer }: { readonly reader: DatabaseSync; readonly writer: DatabaseWriter },
  { bytesMax, retain }: FingerprintTrim,
): Promise<void> {
  // SQLite knows the length of a blob without reading it.
  const size = 'SELECT total(octet_length(records)) AS bytes, max(id) AS last FROM mqtt_fingerprint';
  const { bytes, last } = reader.prepare(size).get() as { bytes: number; last: number | null };
  const oldest = reader.prepare('SELECT id, records FROM mqtt_fingerprint WHERE id <= ? ORDER BY id LIMIT ?');
  for (let over = bytes - bytesMax; over > 0; ) {
    const rows = oldest.all(last, limits.duplicateRowsStep) as { id: number; records: Uint8Array }[];
    const end = rows.at(-1)?.id;
    if (end === undefined) return;
    const statements: Statement[] = [{ sql: 'DELETE FROM mqtt_fingerprint WHERE id <= ?', parameters: [end] }];
    const joined = new JoinedRecords((records) => {
      statements.push({ sql: insertSql, parameters: [records] });
      over += records.length;
    });
    for (const { records } of rows) {
      joined.add(toBytes(retain(toWords(records)) as Uint32Array<ArrayBuffer>));
      over -= records.length;
    }
    joined.end();
    // Handed over in the same turn as `retain` was asked: a later publish comes behind it.
    await writer.write(statements, { isWeighed: false });
  }
}
