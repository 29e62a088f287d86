// Checks of the log: is each row readable, do the rows follow each other without a gap, do the counters agree?
import type { DatabaseSync } from 'node:sqlite';
import { faultInColumn } from '../../shared/log/fingerprint-records.ts';
import { faultIn, type LogPiece } from '../../shared/log/log-piece.ts';
import { DamagedRow, type LogRow, logColumns, toPiece } from '../log/log.ts';
import type { Check } from './check.ts';

const forgetFingerprints = 'Set its fingerprints to NULL; repeats of those messages may be stored twice.';
const oneByOne =
  'Restore a backup; or go on without what is in this row by `dundun check --forget-damaged`. All others are whole.';
const restore = 'Restore a backup; what is in this row is lost.';

export const logChecks: readonly Check[] = [
  {
    name: 'log',
    asks: 'rows of the log can be read, each with as many datapoints as it says',
    *run(database) {
      for (const table of ['log', 'replay_backlog']) {
        for (const row of rowsOf(database, table)) {
          const piece = toPiece(row);
          if (piece instanceof DamagedRow) {
            const what = `Row ${row.firstSeq} of ${table}, with ${row.datapoints} datapoints, is damaged. ${piece.fault}`;
            yield { what, where: { table }, advice: oneByOne };
            continue;
          }
          const fault = faultIn(piece);
          if (fault !== undefined)
            yield { what: `Row ${row.firstSeq} of ${table} ${fault}.`, where: { table }, advice: restore };
        }
      }
      for (const { firstSeq, datapoints } of rowsOf(database, 'damaged_log')) {
        const what = `Row ${firstSeq} of the log, with ${datapoints} datapoints, was found damaged before and is kept aside.`;
        yield { what, where: { table: 'damaged_log' }, advice: oneByOne };
      }
    },
  },
  {
    name: 'order of the log',
    asks: 'no datapoint is missing between what has been sealed and the end of the log, and none is there twice',
    *run(database) {
      const where = { table: 'log' };
      let next = counter(database, 'sealed_seq') + 1;
      for (const { first_seq: first, datapoints } of database
        .prepare('SELECT first_seq, datapoints FROM log ORDER BY first_seq')
        .iterate()) {
        if (Number(first) !== next)
          yield { what: `The log goes on at ${first} where ${next} should come.`, where, advice: 'Restore a backup.' };
        next = Number(first) + Number(datapoints);
      }
    },
  },
  {
    name: 'counters',
    asks: 'nobody has read further than there are datapoints',
    *run(database) {
      const last = Number(
        database.prepare('SELECT max(first_seq + datapoints - 1) AS seq FROM log').get()?.['seq'] ?? 0,
      );
      const end = Math.max(last, counter(database, 'sealed_seq'));
      const advice = `Stop the service and set the value back to ${end}: notifications would miss what comes up to there.`;
      const followed = counter(database, 'followed_seq');
      if (followed > end)
        yield {
          what: `Notifications have looked at datapoint ${followed}, and the last is ${end}.`,
          where: { table: 'counter' },
          advice,
        };
      for (const { first_seq: first, last_seq: lastSkipped } of database
        .prepare('SELECT * FROM rules_skipped WHERE last_seq < first_seq OR last_seq > ?')
        .iterate(end)) {
        yield {
          what: `The range ${first} to ${lastSkipped} of datapoints that skip the rules is none.`,
          where: { table: 'rules_skipped' },
          advice: 'Remove that row.',
        };
      }
    },
  },
  {
    name: 'repeats',
    asks: 'what is remembered to tell repeats can be read',
    *run(database) {
      const advice = 'Remove that row; repeats of those messages may be stored twice.';
      for (const { id, records } of database.prepare('SELECT id, records FROM mqtt_fingerprint').iterate()) {
        const fault = faultInColumn(records);
        if (fault === undefined) continue;
        yield { what: `Row ${id} of mqtt_fingerprint ${fault}.`, where: { table: 'mqtt_fingerprint' }, advice };
      }
      for (const { seq, fingerprints } of database
        .prepare('SELECT first_seq AS seq, fingerprints FROM log WHERE fingerprints IS NOT NULL')
        .iterate()) {
        const fault = faultInColumn(fingerprints);
        if (fault === undefined) continue;
        yield { what: `Row ${seq} of log ${fault}.`, where: { table: 'log' }, advice: forgetFingerprints };
      }
    },
  },
];

function* rowsOf(database: DatabaseSync, table: string): Generator<LogRow> {
  const rows = database.prepare(`SELECT ${logColumns} FROM ${table} ORDER BY first_seq`);
  for (const row of rows.iterate()) yield row as unknown as LogRow;
}

/** The rows that can be decoded; damaged ones are left out. */
export function* piecesOf(database: DatabaseSync, table: string): Generator<LogPiece> {
  for (const row of rowsOf(database, table)) {
    const piece = toPiece(row);
    if (!(piece instanceof DamagedRow) && faultIn(piece) === undefined) yield piece;
  }
}

function counter(database: DatabaseSync, name: string): number {
  return Number(database.prepare('SELECT value FROM counter WHERE name = ?').get(name)?.['value'] ?? 0);
}
