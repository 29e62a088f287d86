// Arrays as parameters of one statement that stores many rows: each column of the rows is an array that the statement unnests.
// Texts and numbers are written as PostgreSQL reads them; bytes of all rows go as one parameter with the place of each in it.

/** Numbers and nulls as an array literal. */
export function numbers(values: readonly (number | null)[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) text += i === 0 ? (values[i] ?? 'NULL') : `,${values[i] ?? 'NULL'}`;
  return `${text}}`;
}

export function truths(values: readonly boolean[]): string {
  return `{${values.map((value) => (value ? 't' : 'f')).join()}}`;
}

interface StoredBytes {
  readonly payload: string | Uint8Array;
  readonly rest: Uint8Array | null;
}

/** In front of the further bytes of a packet whose payload is a text; other such bytes begin with 255. */
const textMark = Buffer.from('t');

/** The row of a packet, with a payload that was a text as a text. */
export function unpacked<Row extends StoredBytes>(row: Row): Row {
  const { payload, rest } = row;
  if (rest === null || rest[0] !== textMark[0]) return row;
  const text = Buffer.from(payload as Uint8Array).toString();
  return { ...row, payload: text, rest: rest.length === 1 ? null : rest.subarray(1) };
}

/** The payloads and further bytes of packets, one after the other. */
export class PacketBytes {
  readonly #parts: Uint8Array[] = [];
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  readonly #restLengths: number[] = [];
  #size = 0;

  add(packet: StoredBytes): void {
    const isText = typeof packet.payload === 'string';
    const bytes = isText ? Buffer.from(packet.payload) : (packet.payload as Uint8Array);
    const rest = isText ? Buffer.concat([textMark, packet.rest ?? textMark.subarray(1)]) : packet.rest;
    // substring() counts from one.
    this.#starts.push(this.#size + 1);
    this.#lengths.push(bytes.length);
    this.#restLengths.push(rest === null ? -1 : rest.length);
    this.#parts.push(bytes);
    if (rest !== null) this.#parts.push(rest);
    this.#size += bytes.length + (rest?.length ?? 0);
  }

  /** The parameters that `packetArrays` names. */
  get parameters(): readonly unknown[] {
    const { buffer, byteOffset, length } = Buffer.concat(this.#parts, this.#size);
    const bytes = Buffer.from(buffer, byteOffset, length);
    return [bytes, numbers(this.#starts), numbers(this.#lengths), numbers(this.#restLengths)];
  }
}

/** SQL for the four parameters of PacketBytes, the first of which is `$1`: arrays to unnest, and columns of their row `x`. */
export const packetArrays = {
  unnest: '$2::integer[], $3::integer[], $4::integer[]',
  names: 'start, length, rest',
  payload: 'substring($1::bytea FROM x.start FOR x.length)',
  rest: 'CASE WHEN x.rest >= 0 THEN substring($1::bytea FROM x.start + x.length FOR x.rest) END',
};
