// Reads the log at start: which rows there are, and of those that are not sealed the datapoints, into the head.
import { limits } from '../../../config/limits.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { type Query, readRows } from './log-reader.ts';
import type { NumberedPlace } from './log-row.ts';
import type { LogState, StoredPass } from './log-state.ts';

interface PassRow extends StoredPass {
  readonly isWhole: number;
}

interface RowHeader extends NumberedPlace {
  readonly position: number;
  readonly count: number;
}

/** Headers fetched at a time. */
const headersAtOnce = 10_000;

const endSql = 'SELECT number, position FROM log_end';

/** How far the log is sealed and followed. */
async function readProgress(connection: Connection) {
  const { rows: passes } = await connection.query<PassRow>(
    'SELECT number, up_to AS "upTo", up_to_row AS "upToRow", is_whole AS "isWhole" FROM seal_pass ORDER BY number',
  );
  const { rows: followed } = await connection.query<{ seq: number | null }>(
    `SELECT coalesce((SELECT value FROM counter WHERE name = 'followed_seq'),
      CASE WHEN EXISTS (SELECT 1 FROM notification) THEN 0 END) AS seq`,
  );
  return {
    pass: passes.findLast(({ isWhole }) => isWhole === 1) ?? { number: 0, upTo: 0, upToRow: 0 },
    begun: passes.find(({ isWhole }) => isWhole === 0) as StoredPass | undefined,
    followedSeq: followed[0]?.seq ?? undefined,
  };
}

/** @returns a sentence about each row that cannot be read. */
export async function loadLog(
  database: Pick<PostgresDatabase, 'query' | 'transaction'>,
  state: LogState,
): Promise<string[]> {
  const damage = await database.transaction(async (connection) => {
    // Nothing of it is emptied meanwhile, and afterwards nothing that a server needs whose row of `node` is there.
    await connection.query('LOCK TABLE log_0, log_1, log_2, log_3 IN ACCESS SHARE MODE');
    const progress = await readProgress(connection);
    state.startBehind(progress);
    const { rows } = await connection.query<{ number: number; position: number }>(endSql);
    const found = await loadHeaders(connection, state, progress);
    const [end] = rows;
    if (end !== undefined) state.startAt(end);
    return found;
  });
  const query: Query = (sql, parameters) => database.query(sql, parameters);
  let damaged = 0;
  for await (const rows of readRows(query, state.index.slice(0, state.index.size))) {
    for (const { writer, seq, firstSeq, content } of rows) {
      if (typeof content === 'string') {
        damaged += 1;
        if (damaged <= limits.damagedRowsLogged)
          damage.push(
            `Row ${seq} of writer ${writer} of the log is damaged. ${content} Its datapoints cannot be read.`,
          );
        continue;
      }
      if (firstSeq > state.sealedSeq && content.rows.length > 0) state.addDatapoints(content, firstSeq);
      state.applyEntry(content, firstSeq);
    }
  }
  if (damaged > limits.damagedRowsLogged)
    damage.push(`${damaged - limits.damagedRowsLogged} more rows of the log are damaged.`);
  return damage;
}

async function loadHeaders(
  connection: Connection,
  state: LogState,
  { pass, followedSeq = pass.upTo }: { readonly pass: StoredPass; readonly followedSeq: number | undefined },
): Promise<string[]> {
  const damage: string[] = [];
  const keptFrom = Math.max(followedSeq, pass.upTo - limits.replayBacklogDatapointsMax);
  let last = pass.upToRow;
  let hasSealed = true;
  const take = (row: RowHeader) => {
    const { number, position, count } = row;
    if (number <= pass.upToRow) {
      if (position + count - 1 > keptFrom) state.addSealed(row, count, position);
      return;
    }
    if (number !== last + 1) damage.push(`Rows ${last + 1} to ${number - 1} of the log are missing.`);
    last = number;
    if (hasSealed) state.sealedAdded();
    hasSealed = false;
    state.add(row, count, position);
  };
  await connection.query(
    `DECLARE header NO SCROLL CURSOR FOR SELECT writer, seq, number, position, count FROM log ORDER BY number`,
  );
  for (;;) {
    const { rows } = await connection.query<RowHeader>(`FETCH ${headersAtOnce} FROM header`);
    for (const row of rows) take(row);
    if (rows.length < headersAtOnce) break;
  }
  if (hasSealed) state.sealedAdded();
  return damage;
}
