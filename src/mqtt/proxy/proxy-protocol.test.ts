// Headers of the PROXY protocol, as a table: what is read, what needs more bytes, what is refused.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../config/limits.ts';
import { readProxyHeader } from './proxy-protocol.ts';

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** A header of version 2; `length` may say something else than there is. */
function binary(parts: {
  readonly versionCommand?: number;
  readonly familyTransport?: number;
  readonly addresses?: Uint8Array;
  readonly length?: number;
}): Buffer {
  const { versionCommand = 0x21, familyTransport = 0x11, addresses = v4 } = parts;
  const fixed = Buffer.from([versionCommand, familyTransport, 0, 0]);
  fixed.writeUInt16BE(parts.length ?? addresses.length, 2);
  return Buffer.concat([signature, fixed, addresses]);
}

const v4 = Buffer.from([192, 0, 2, 1, 198, 51, 100, 1, 0x12, 0x67, 0x07, 0x5b]);
const v6 = Buffer.concat([
  ...[Buffer.from('20010db8000000000000000000000007', 'hex'), Buffer.from('20010db8000000000000000000000001', 'hex')],
  Buffer.from([0x12, 0x67, 0x07, 0x5b]),
]);
const checksum = Buffer.from([0x03, 0, 4, 1, 2, 3, 4]);
const authority = Buffer.concat([Buffer.from([0x02, 0, 5]), Buffer.from('a.org')]);

const read: readonly [name: string, header: Buffer | string, client: string | undefined][] = [
  ['version 1, IPv4', 'PROXY TCP4 192.0.2.1 198.51.100.1 4711 1883\r\n', '192.0.2.1'],
  ['version 1, IPv6', 'PROXY TCP6 2001:db8::7 2001:db8::1 4711 1883\r\n', '2001:db8::7'],
  ['version 1, UNKNOWN', 'PROXY UNKNOWN\r\n', undefined],
  ['version 1, UNKNOWN with words behind', 'PROXY UNKNOWN ffff::1 what ever\r\n', undefined],
  ['version 1, ports at their bounds', 'PROXY TCP4 192.0.2.1 198.51.100.1 0 65535\r\n', '192.0.2.1'],
  ['version 2, IPv4', binary({}), '192.0.2.1'],
  ['version 2, IPv6', binary({ familyTransport: 0x21, addresses: v6 }), '2001:db8:0:0:0:0:0:7'],
  ['version 2, datagrams', binary({ familyTransport: 0x12 }), '192.0.2.1'],
  ['version 2, LOCAL', binary({ versionCommand: 0x20 }), undefined],
  ['version 2, LOCAL without addresses', binary({ versionCommand: 0x20, addresses: Buffer.alloc(0) }), undefined],
  ['version 2, no family', binary({ familyTransport: 0, addresses: Buffer.alloc(0) }), undefined],
  ['version 2, UNIX', binary({ familyTransport: 0x31, addresses: Buffer.alloc(216, 65) }), undefined],
  ['version 2, with a checksum that is wrong', binary({ addresses: Buffer.concat([v4, checksum]) }), '192.0.2.1'],
  ['version 2, with what else it may hold', binary({ addresses: Buffer.concat([v4, authority]) }), '192.0.2.1'],
  [
    'version 2, as long as it may be',
    binary({ addresses: Buffer.concat([v4, Buffer.alloc(limits.proxyHeaderBytesMax - 28)]) }),
    '192.0.2.1',
  ],
];

const bad: readonly [name: string, bytes: Buffer | string][] = [
  ['an MQTT packet', Buffer.from('101000044d5154540402003c0004746573740a', 'hex')],
  ['a request of HTTP', 'GET / HTTP/1.1\r\n\r\n'],
  ['line feeds', '\r\n\r\n\r\n\r\n'],
  ['version 1 in small letters', 'proxy TCP4 192.0.2.1 198.51.100.1 4711 1883\r\n'],
  ['version 1 without addresses', 'PROXY TCP4\r\n'],
  ['version 1 of an unknown family', 'PROXY UDP4 192.0.2.1 198.51.100.1 4711 1883\r\n'],
  ['version 1 with half an address', 'PROXY TCP4 192.0.2 198.51.100.1 4711 1883\r\n'],
  ['version 1 with an address of the other family', 'PROXY TCP4 2001:db8::7 198.51.100.1 4711 1883\r\n'],
  ['version 1 with two spaces', 'PROXY TCP4  192.0.2.1 198.51.100.1 4711 1883\r\n'],
  ['version 1 with more behind', 'PROXY TCP4 192.0.2.1 198.51.100.1 4711 1883 1\r\n'],
  ['version 1 without a port', 'PROXY TCP4 192.0.2.1 198.51.100.1 4711\r\n'],
  ['version 1 with a port too high', 'PROXY TCP4 192.0.2.1 198.51.100.1 4711 65536\r\n'],
  ['version 1 with a port that is none', 'PROXY TCP4 192.0.2.1 198.51.100.1 0x1 1883\r\n'],
  ['version 1 with a tab', 'PROXY TCP4\t192.0.2.1 198.51.100.1 4711 1883\r\n'],
  ['version 1 that ends with a line feed alone', `PROXY TCP4 192.0.2.1 198.51.100.1 4711 1883\n${' '.repeat(107)}`],
  ['version 1 without an end', `PROXY UNKNOWN ${'x'.repeat(1_000)}`],
  ['version 1 that is too long', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`],
  ['version 3', binary({ versionCommand: 0x31 })],
  ['an unknown command', binary({ versionCommand: 0x22 })],
  ['an unknown family', binary({ familyTransport: 0x41 })],
  ['an unknown transport', binary({ familyTransport: 0x13 })],
  ['IPv4 that is too short', binary({ addresses: v4.subarray(0, 11) })],
  ['IPv6 that is too short', binary({ familyTransport: 0x21, addresses: v6.subarray(0, 35) })],
  ['UNIX that is too short', binary({ familyTransport: 0x31, addresses: Buffer.alloc(215) })],
  ['a length beyond the bound', binary({ length: 65_535 })],
  ['a length one beyond the bound', binary({ length: limits.proxyHeaderBytesMax - 15 })],
];

suite('a header of the PROXY protocol', () => {
  for (const [name, header, client] of read) {
    test(`${name} is read, and every shorter piece of it needs more`, () => {
      const bytes = Buffer.from(header as string, 'latin1');
      const behind = Buffer.concat([bytes, Buffer.from([0x10, 0x0c])]);
      assert.deepEqual(readProxyHeader(behind), { bytes: bytes.length, client });
      for (let length = 0; length < bytes.length; length++)
        assert.equal(readProxyHeader(bytes.subarray(0, length)), 'partial', `${length} bytes`);
    });
  }

  for (const [name, bytes] of bad) {
    test(`${name} is refused`, () => assert.equal(readProxyHeader(Buffer.from(bytes as string, 'latin1')), 'bad'));
  }

  test('is found or refused before more than its bound has come, whatever comes', () => {
    const starts = fc.constantFrom('PROXY ', 'PROXY TCP4 ', signature.toString('latin1'), '');
    fc.assert(
      fc.property(
        starts,
        fc.uint8Array({ minLength: limits.proxyHeaderBytesMax, size: 'max', maxLength: 6_000 }),
        (start, more) => {
          const found = readProxyHeader(Buffer.concat([Buffer.from(start, 'latin1'), more]));
          assert.notEqual(found, 'partial');
        },
      ),
    );
  });
});
