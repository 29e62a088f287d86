// Reads the log at start: which rows there are, and of those that are not sealed the datapoints, into the head.
import { limits } from '../../../config/limits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { type Query, readRows } from './log-reader.ts';
import type { LogState, Positions, StoredPass } from './log-state.ts';

interface PassRow {
  readonly number: number;
  readonly upTo: number;
  readonly positions: string;
  readonly isWhole: number;
}

interface RowHeader {
  readonly ring: number;
  readonly writer: number;
  readonly seq: number;
  readonly position: number;
  readonly count: number;
  readonly size: number;
}

/** Headers fetched at a time. */
const headersAtOnce = 10_000;

/** How far the log is sealed and followed. */
async function readProgress(database: PostgresDatabase) {
  const passes = await database.query<PassRow>(
    'SELECT number, up_to AS "upTo", positions, is_whole AS "isWhole" FROM seal_pass ORDER BY number',
  );
  const stored = passes.map((row) => ({ ...row, positions: JSON.parse(row.positions) as Positions }));
  const [followed] = await database.query<{ seq: number | null }>(
    `SELECT coalesce((SELECT value FROM counter WHERE name = 'followed_seq'),
      CASE WHEN EXISTS (SELECT 1 FROM notification) THEN 0 END) AS seq`,
  );
  return {
    pass: stored.findLast(({ isWhole }) => isWhole === 1) ?? { number: 0, upTo: 0, positions: [] },
    begun: stored.find(({ isWhole }) => isWhole === 0) as StoredPass | undefined,
    followedSeq: followed?.seq ?? undefined,
  };
}

/** @returns a sentence about each row that cannot be read. */
export async function loadLog(database: PostgresDatabase, state: LogState): Promise<string[]> {
  const progress = await readProgress(database);
  state.startBehind(progress);
  const damage = await loadHeaders(database, state, progress);
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

/** In order of the numbers that their own processes gave them, which is about that of time. */
async function loadHeaders(
  database: PostgresDatabase,
  state: LogState,
  { pass, followedSeq = pass.upTo }: { readonly pass: StoredPass; readonly followedSeq: number | undefined },
): Promise<string[]> {
  const damage: string[] = [];
  const lastOf = new Map<number, number>(pass.positions);
  const keptFrom = Math.max(followedSeq, pass.upTo - limits.replayBacklogDatapointsMax);
  const sealed = new Map(pass.positions);
  const isSealed = ({ writer, seq }: RowHeader) => seq <= (sealed.get(writer) ?? 0);
  let hasSealed = true;
  const take = (row: RowHeader) => {
    const { position, count, ring, size } = row;
    const isOld = isSealed(row);
    const isKept = !isOld || position + count - 1 > keptFrom;
    const before = lastOf.get(row.writer) ?? 0;
    if (!isOld && row.seq !== before + 1)
      damage.push(`Rows ${before + 1} to ${row.seq - 1} of writer ${row.writer} are missing in the log.`);
    if (!isOld) lastOf.set(row.writer, row.seq);
    state.rings.add({ ring, writer: row.writer, bytes: size, isKept });
    if (!isKept) return;
    if (isOld) {
      state.addSealed(row, count, position);
      return;
    }
    if (hasSealed) state.sealedAdded();
    hasSealed = false;
    state.add(row, count, position);
  };
  await database.transaction(async (connection) => {
    await connection.query(
      `DECLARE header NO SCROLL CURSOR FOR SELECT ring, writer, seq, position, count, octet_length(bytes) AS size
        FROM log ORDER BY position, writer, seq`,
    );
    for (;;) {
      const { rows } = await connection.query<RowHeader>(`FETCH ${headersAtOnce} FROM header`);
      for (const row of rows) take(row);
      if (rows.length < headersAtOnce) return;
    }
  });
  if (hasSealed) state.sealedAdded();
  return damage;
}
