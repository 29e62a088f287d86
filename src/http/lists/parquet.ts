// Writes rows as an Apache Parquet file while they are read: one row group at a time, then the footer. Memory is
// bounded, except for some hundred bytes of footer for each row group. Called by row-streams.ts.
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { limits } from '../../config/limits.ts';

/** Types of columns: UTF-8 text, time in milliseconds since 1970 UTC, the same by local clocks, double, integer. */
type ColumnType = 'text' | 'time' | 'localTime' | 'number' | 'count';

/** A column, and its value in a row; undefined: null. */
export interface ParquetColumn<T> {
  readonly name: string;
  readonly kind: ColumnType;
  readonly of: (row: T) => string | number | undefined;
}

const types = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  localTime: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MILLIS' } },
  number: { type: 'DOUBLE' },
  count: { type: 'INT64' },
} as const;

/** The bytes of the file, in pieces. */
export async function* parquetChunks<T>(
  steps: AsyncGenerator<T[]>,
  columns: readonly ParquetColumn<T>[],
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter();
  const schema = columns.map(({ name, kind }) => ({ name, repetition_type: 'OPTIONAL' as const, ...types[kind] }));
  const file = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'root', num_children: columns.length }, ...schema],
    createdBy: 'dundun',
  });
  const group = new RowGroup(columns);
  for await (const rows of steps) {
    for (const row of rows) {
      group.add(row);
      if (!group.isFull) continue;
      void file.write(group.take());
      yield taken(bytes);
    }
  }
  if (group.rows > 0) void file.write(group.take());
  void file.finish();
  yield taken(bytes);
}

/** The rows of one row group, by column. */
class RowGroup<T> {
  readonly #columns: readonly ParquetColumn<T>[];
  #data: (string | number | bigint | undefined)[][];
  #chars = 0;

  constructor(columns: readonly ParquetColumn<T>[]) {
    this.#columns = columns;
    this.#data = columns.map(() => []);
  }

  get rows(): number {
    return this.#data[0]?.length ?? 0;
  }

  get isFull(): boolean {
    return this.rows >= limits.parquetGroupRows || this.#chars >= limits.parquetGroupChars;
  }

  add(row: T): void {
    for (const [place, { kind, of }] of this.#columns.entries()) {
      const value = of(row);
      if (typeof value === 'string') this.#chars += value.length;
      this.#data[place]?.push(typeof value === 'number' && kind !== 'number' ? BigInt(value) : value);
    }
  }

  /** Returns the rows as a row group and starts an empty one. */
  take() {
    const rowGroupSize = this.rows;
    const columnData = this.#columns.map(({ name, kind }, place) => ({
      name,
      data: this.#data[place] ?? [],
      // Not for texts: the footer would contain the least and greatest text completely.
      statistics: kind !== 'text',
      offsetIndex: false,
    }));
    this.#data = this.#columns.map(() => []);
    this.#chars = 0;
    return { columnData, rowGroupSize };
  }
}

/** The bytes since the last call; the writer keeps its position in the file. */
function taken(bytes: ByteWriter): Uint8Array {
  const chunk = bytes.getBytes().slice();
  bytes.index = 0;
  return chunk;
}
