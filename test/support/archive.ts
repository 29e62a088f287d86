// Reads ZIP archives by the list at their end, independently of what wrote them.
import assert from 'node:assert/strict';
import { crc32, inflateRawSync } from 'node:zlib';

/** The files of an archive by their paths; undefined where the list at the end is missing, as in one that was cut off. */
export function findFiles(archive: Buffer): Map<string, string> | undefined {
  const end = archive.lastIndexOf(Buffer.from('504b0506', 'hex'));
  if (end < 0 || end + 22 !== archive.length) return undefined;
  const files = new Map<string, string>();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    assert.equal(archive.readUInt32LE(at), 0x0201_4b50, 'an entry of the list');
    const [crc, packed, bytes] = [16, 20, 24].map((field) => archive.readUInt32LE(at + field)) as [
      number,
      number,
      number,
    ];
    const [name, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const text = inflateRawSync(archive.subarray(begin, begin + packed));
    assert.equal(text.length, bytes);
    assert.equal(crc32(text), crc);
    files.set(archive.toString('utf8', at + 46, at + 46 + name), text.toString('utf8'));
    at += 46 + name + extra + comment;
  }
  return files;
}

/** The files of an archive that must be whole. */
export function filesOf(archive: Buffer): Map<string, string> {
  const files = findFiles(archive);
  assert.ok(files !== undefined, `the archive of ${archive.length} bytes has its list of files`);
  return files;
}
