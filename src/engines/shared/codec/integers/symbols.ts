// The upper bits of a series' integers as symbols for zstd: several small symbols in a byte, or one plane of bytes for
// each eight bits. With whole symbols in a byte, zstd's Huffman codes come near to the entropy.

/** By the code in a series' header: bits of a symbol, and number of planes. Code 0: no symbols. */
export const symbolLayouts = [
  { bits: 0, planes: 0 },
  { bits: 1, planes: 1 },
  { bits: 2, planes: 1 },
  { bits: 4, planes: 1 },
  { bits: 8, planes: 1 },
  { bits: 8, planes: 2 },
  { bits: 8, planes: 3 },
  { bits: 8, planes: 4 },
] as const;

/** The number of bytes that the symbols of `count` numbers take. */
export function symbolBytes(count: number, code: number): number {
  const { bits, planes } = symbolLayouts[code]!;
  return planes * Math.ceil((count * bits) / 8);
}

/** The symbols of the bits above the lowest `rawBits`. */
export function makeSymbols(numbers: Float64Array, code: number, rawBits: number): Uint8Array {
  const { bits, planes } = symbolLayouts[code]!;
  const bytes = new Uint8Array(symbolBytes(numbers.length, code));
  let position = 0;
  for (let plane = planes - 1; plane >= 0; plane--) {
    const scale = 2 ** -(rawBits + 8 * plane);
    if (bits === 8) for (let i = 0; i < numbers.length; i++) bytes[position++] = (numbers[i]! * scale) & 0xff;
    else
      for (let i = 0, bit = 0; i < numbers.length; i++, bit += bits)
        bytes[bit >>> 3]! |= (numbers[i]! * scale) << (bit & 7);
  }
  return bytes;
}

/** Estimated bytes of a frame's headers, and of each distinct symbol in the table of Huffman codes. */
const frameHeaderBytes = 8;
const tableBytes = 0.45;
const counts = new Uint32Array(256);

/** About the bytes that zstd makes of symbols without repeats: their entropy, and the table that says it. */
export function entropyBytes(symbols: Uint8Array): number {
  counts.fill(0);
  for (let i = 0; i < symbols.length; i++) counts[symbols[i]!]! += 1;
  let bits = 0;
  let distinct = 0;
  for (let symbol = 0; symbol < 256; symbol++) {
    const count = counts[symbol]!;
    if (count === 0) continue;
    distinct += 1;
    bits -= count * Math.log2(count / symbols.length);
  }
  // One symbol throughout is a run.
  return distinct === 1
    ? frameHeaderBytes
    : Math.min(bits / 8 + distinct * tableBytes, symbols.length) + frameHeaderBytes;
}

/** Adds the symbols' values to each number. `bytes` holds `symbolBytes(numbers.length, code)` bytes. */
export function addSymbols(bytes: Uint8Array, code: number, rawBits: number, numbers: Float64Array): void {
  const { bits, planes } = symbolLayouts[code]!;
  let position = 0;
  for (let plane = planes - 1; plane >= 0; plane--) {
    const scale = 2 ** (rawBits + 8 * plane);
    if (bits === 8) for (let i = 0; i < numbers.length; i++) numbers[i]! += bytes[position++]! * scale;
    else {
      const mask = (1 << bits) - 1;
      for (let i = 0, bit = 0; i < numbers.length; i++, bit += bits) {
        numbers[i]! += ((bytes[bit >>> 3]! >>> (bit & 7)) & mask) * scale;
      }
    }
  }
}

/** Whether a code has symbols of less than a byte. */
export function isSmall(code: number): boolean {
  return symbolLayouts[code]!.bits < 8;
}

/** Values of the symbols of the code that is read. */
const numberOf = new Float64Array(16);

/** Sets the numbers from small symbols where there are no raw bits: `base + factor * symbol`. */
export function putSymbols(
  bytes: Uint8Array,
  code: number,
  { base, factor }: { readonly base: number; readonly factor: number },
  numbers: Float64Array,
): void {
  const { bits } = symbolLayouts[code]!;
  const mask = (1 << bits) - 1;
  for (let symbol = 0; symbol <= mask; symbol++) numberOf[symbol] = base + factor * symbol;
  const inByte = 8 / bits;
  const whole = Math.floor(numbers.length / inByte);
  let at = 0;
  for (let position = 0; position < whole; position++) {
    for (let byte = bytes[position]!, left = inByte; left > 0; left--, byte >>>= bits)
      numbers[at++] = numberOf[byte & mask]!;
  }
  for (let byte = bytes[whole] ?? 0; at < numbers.length; byte >>>= bits) numbers[at++] = numberOf[byte & mask]!;
}
