// Reads the last row of a table from page images, without SQLite: says up to which datapoint the log would have gone.
// The format of pages and records: sqlite.org/fileformat2.html, "B-tree Pages" and "Record Format".

/** The image of a page; undefined where there is none. */
export type PageSource = (page: number) => Buffer | undefined;

type Column = number | string | undefined;

const interiorTable = 5;
const leafTable = 13;
const leafIndex = 10;
const depthMax = 20;
/** Where the database's own header ends on its first page. */
const databaseHeadBytes = 100;
const schemaPage = 1;
/** Tables and indexes that are looked through for a name. */
const schemaRowsMax = 10_000;

/**
 * The seq of the last datapoint that the pages know, in the log or sealed; undefined where they cannot be read. Pages of
 * a damaged log need not fit each other: whatever is found is a number at least.
 */
export function lastSeqIn(pages: PageSource): number | undefined {
  try {
    const roots = rootsIn(pages);
    const log = roots.get('log');
    const counter = roots.get('counter');
    const row = log === undefined ? undefined : lastRow(pages, log);
    const logged = row === undefined ? 0 : row.rowid + Math.max(1, Number(row.columns[1] ?? 1)) - 1;
    const sealed = counter === undefined ? 0 : counterIn(pages, counter, 'sealed_seq');
    const seq = Math.max(logged, sealed);
    return log !== undefined && Number.isSafeInteger(seq) ? seq : undefined;
  } catch (error) {
    // A number that points outside a page.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The root page of each table. */
function rootsIn(pages: PageSource): ReadonlyMap<string, number> {
  const roots = new Map<string, number>();
  for (const { columns } of rowsOf(pages, schemaPage)) {
    if (columns[0] === 'table') roots.set(String(columns[1]), Number(columns[3]));
  }
  return roots;
}

interface Row {
  readonly rowid: number;
  /** Columns whose content lies on this page; undefined for those on overflow pages, and for blobs. */
  readonly columns: readonly Column[];
}

function* rowsOf(pages: PageSource, root: number): Generator<Row> {
  const left = [root];
  for (let rows = 0; left.length > 0 && rows < schemaRowsMax; ) {
    const page = openPage(pages, left.pop() as number);
    if (page?.type === interiorTable) {
      left.push(page.rightmost());
      for (let cell = page.cells - 1; cell >= 0; cell--) left.push(page.bytes.readUInt32BE(page.offsetOf(cell)));
    } else if (page?.type === leafTable) {
      for (let cell = 0; cell < page.cells; cell++, rows++) yield rowAt(page.bytes, page.offsetOf(cell));
    }
  }
}

function lastRow(pages: PageSource, root: number): Row | undefined {
  let number = root;
  for (let depth = 0; depth < depthMax; depth++) {
    const page = openPage(pages, number);
    if (page?.type === leafTable)
      return page.cells === 0 ? undefined : rowAt(page.bytes, page.offsetOf(page.cells - 1));
    if (page?.type !== interiorTable) return undefined;
    number = page.rightmost();
  }
  return undefined;
}

/** A value of the table `counter`, which has few rows, all on one page. */
function counterIn(pages: PageSource, root: number, name: string): number {
  const page = openPage(pages, root);
  if (page?.type !== leafIndex) return 0;
  for (let cell = 0; cell < page.cells; cell++) {
    const [, payload] = varintAt(page.bytes, page.offsetOf(cell));
    const [found, value] = columnsAt(page.bytes, payload);
    if (found === name) return Number(value);
  }
  return 0;
}

function openPage(pages: PageSource, number: number) {
  const bytes = pages(number);
  if (bytes === undefined) return undefined;
  const head = number === schemaPage ? databaseHeadBytes : 0;
  const type = bytes.readUInt8(head);
  const pointers = head + (type === interiorTable ? 12 : 8);
  return {
    bytes,
    type,
    cells: bytes.readUInt16BE(head + 3),
    rightmost: () => bytes.readUInt32BE(head + 8),
    offsetOf: (cell: number) => bytes.readUInt16BE(pointers + 2 * cell),
  };
}

function rowAt(bytes: Buffer, offset: number): Row {
  const [, rowidAt] = varintAt(bytes, offset);
  const [rowid, payload] = varintAt(bytes, rowidAt);
  return { rowid, columns: columnsAt(bytes, payload) };
}

/** A number of one to nine bytes, and where the next begins. */
function varintAt(bytes: Buffer, offset: number): readonly [value: number, next: number] {
  let value = 0;
  for (let at = 0; at < 8; at++) {
    const byte = bytes.readUInt8(offset + at);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, offset + at + 1];
  }
  return [value * 256 + bytes.readUInt8(offset + 8), offset + 9];
}

const integerBytes = [0, 1, 2, 3, 4, 6, 8] as const;
const typeZero = 8;
const typeOne = 9;
const typeBlob = 12;

function columnsAt(bytes: Buffer, payload: number): Column[] {
  const [headBytes, first] = varintAt(bytes, payload);
  const columns: Column[] = [];
  let at = payload + headBytes;
  for (let head = first; head < payload + headBytes; ) {
    const [type, next] = varintAt(bytes, head);
    head = next;
    const length = type < typeBlob ? (integerBytes[type] ?? (type === 7 ? 8 : 0)) : Math.floor((type - typeBlob) / 2);
    // The rest lies on other pages.
    if (at + length > bytes.length) break;
    columns.push(columnAt(bytes, at, { type, length }));
    at += length;
  }
  return columns;
}

function columnAt(bytes: Buffer, at: number, { type, length }: { type: number; length: number }): Column {
  if (type === typeZero || type === typeOne) return type - typeZero;
  if (type > typeBlob && type % 2 === 1) return bytes.toString('utf8', at, at + length);
  if (type === 0 || type === 7 || type >= typeBlob) return undefined;
  return length <= 6 ? bytes.readIntBE(at, length) : Number(bytes.readBigInt64BE(at));
}
