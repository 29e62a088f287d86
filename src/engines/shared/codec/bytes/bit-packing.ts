// Packs unsigned integers side by side, each in as many bits as the widest needs, lowest bit first. Used by the series
// of a chunk. Integers of more than 24 bits are cut into parts of 24 bits, each part packed as a run of its own, so
// that 32-bit arithmetic is enough.

const partBits = 24;

/** The number of bytes that `count` integers of `bits` bits take. */
export function packedBytes(count: number, bits: number): number {
  let bytes = 0;
  for (let shift = 0; shift < bits; shift += partBits)
    bytes += Math.ceil((count * Math.min(partBits, bits - shift)) / 8);
  return bytes;
}

/** Packs the lowest `bits` bits of each number. */
export function packBits(numbers: Float64Array, bits: number, out: Uint8Array): void {
  let position = 0;
  for (let shift = 0; shift < bits; shift += partBits) {
    const width = Math.min(partBits, bits - shift);
    const mask = 2 ** width - 1;
    const scale = 2 ** -shift;
    let waiting = 0;
    let waitingBits = 0;
    for (let i = 0; i < numbers.length; i++) {
      waiting |= ((numbers[i]! * scale) & mask) << waitingBits;
      waitingBits += width;
      while (waitingBits >= 8) {
        out[position++] = waiting;
        waiting >>>= 8;
        waitingBits -= 8;
      }
    }
    if (waitingBits > 0) out[position++] = waiting;
  }
}

/** Adds to each number the part that was packed. `packed` holds `packedBytes(numbers.length, bits)` bytes. */
export function addPacked(packed: Uint8Array, bits: number, numbers: Float64Array): void {
  let position = 0;
  for (let shift = 0; shift < bits; shift += partBits) {
    const width = Math.min(partBits, bits - shift);
    const mask = 2 ** width - 1;
    const scale = 2 ** shift;
    let waiting = 0;
    let waitingBits = 0;
    for (let i = 0; i < numbers.length; i++) {
      while (waitingBits < width) {
        waiting |= packed[position++]! << waitingBits;
        waitingBits += 8;
      }
      numbers[i]! += (waiting & mask) * scale;
      waiting >>>= width;
      waitingBits -= width;
    }
  }
}
