// Which address counts as the client's behind proxies, as a table.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { TrustedProxies } from './trusted-proxies.ts';

const usual = ['10.0.0.0/8', '127.0.0.1', '2001:db8:aaaa::/48'];

const rows: readonly {
  readonly name: string;
  readonly trusted?: readonly string[];
  readonly peer: string | undefined;
  readonly forwarded?: string;
  readonly client: string;
}[] = [
  { name: 'no header', peer: '127.0.0.1', client: '127.0.0.1' },
  { name: 'no proxy is trusted', trusted: [], peer: '127.0.0.1', forwarded: '192.0.2.1', client: '127.0.0.1' },
  { name: 'the peer is no proxy', peer: '192.0.2.9', forwarded: '192.0.2.1', client: '192.0.2.9' },
  { name: 'one entry', peer: '127.0.0.1', forwarded: '192.0.2.1', client: '192.0.2.1' },
  { name: 'spoofed entries stand first', peer: '127.0.0.1', forwarded: '8.8.8.8, 192.0.2.1', client: '192.0.2.1' },
  {
    name: 'a spoofed entry names a trusted proxy',
    peer: '127.0.0.1',
    forwarded: '10.0.0.5, 192.0.2.1',
    client: '192.0.2.1',
  },
  {
    name: 'several proxies in a row',
    peer: '127.0.0.1',
    forwarded: '8.8.8.8, 192.0.2.1, 10.0.0.7, 10.0.0.8',
    client: '192.0.2.1',
  },
  { name: 'all are trusted: the farthest', peer: '127.0.0.1', forwarded: '10.0.0.1,10.0.0.2', client: '10.0.0.1' },
  { name: 'a mapped peer', peer: '::ffff:127.0.0.1', forwarded: '192.0.2.1', client: '192.0.2.1' },
  { name: 'a mapped entry', peer: '127.0.0.1', forwarded: '::ffff:192.0.2.1', client: '192.0.2.1' },
  { name: 'a mapped entry in hex', peer: '127.0.0.1', forwarded: '::FFFF:c000:0201', client: '192.0.2.1' },
  { name: 'a mapped trusted entry', peer: '127.0.0.1', forwarded: '192.0.2.1, ::ffff:10.1.1.1', client: '192.0.2.1' },
  { name: 'a mapped peer without a header', peer: '::ffff:192.0.2.1', client: '192.0.2.1' },
  {
    name: 'mapped addresses in the setting',
    trusted: ['::ffff:127.0.0.1', '::ffff:10.0.0.0/104'],
    peer: '127.0.0.1',
    forwarded: '192.0.2.1, 10.255.1.1',
    client: '192.0.2.1',
  },
  { name: 'IPv6', peer: '2001:db8:aaaa::1', forwarded: '2001:DB8:0:0::7', client: '2001:db8::7' },
  { name: 'IPv6 with a zone', peer: '127.0.0.1', forwarded: 'fe80::1%eth0', client: 'fe80::1' },
  { name: 'a port behind IPv4', peer: '127.0.0.1', forwarded: '192.0.2.1:4711', client: '192.0.2.1' },
  { name: 'a port behind IPv6', peer: '127.0.0.1', forwarded: '[2001:db8::7]:4711', client: '2001:db8::7' },
  { name: 'brackets without a port', peer: '127.0.0.1', forwarded: '[2001:db8::7]', client: '2001:db8::7' },
  {
    name: 'a trusted entry with a port',
    peer: '127.0.0.1',
    forwarded: '192.0.2.1, 10.0.0.1:443',
    client: '192.0.2.1',
  },
  { name: 'an empty header', peer: '127.0.0.1', forwarded: '', client: '127.0.0.1' },
  { name: 'empty elements', peer: '127.0.0.1', forwarded: '192.0.2.1, ,,', client: '192.0.2.1' },
  { name: 'an entry of words', peer: '127.0.0.1', forwarded: 'unknown', client: '127.0.0.1' },
  { name: 'words last', peer: '127.0.0.1', forwarded: '192.0.2.1, unknown', client: '127.0.0.1' },
  { name: 'words before a proxy', peer: '127.0.0.1', forwarded: '192.0.2.1, _x, 10.0.0.1', client: '10.0.0.1' },
  { name: 'half an address', peer: '127.0.0.1', forwarded: '192.0.2', client: '127.0.0.1' },
  { name: 'a bracket that does not close', peer: '127.0.0.1', forwarded: '[2001:db8::7', client: '127.0.0.1' },
  { name: 'a port that is none', peer: '127.0.0.1', forwarded: '192.0.2.1:http', client: '127.0.0.1' },
  { name: 'a quoted entry', peer: '127.0.0.1', forwarded: '"192.0.2.1"', client: '127.0.0.1' },
  { name: 'no peer', peer: undefined, forwarded: '192.0.2.1', client: '' },
];

suite('the address of a client', () => {
  for (const { name, trusted = usual, peer, forwarded, client } of rows) {
    test(`${name}: ${client || 'none'}`, () => {
      assert.equal(new TrustedProxies(trusted).clientOf(peer, forwarded), client);
    });
  }

  test('is looked for in so many entries and no more, however long the header is', () => {
    const proxies = new TrustedProxies(usual);
    const hops = (count: number) => `192.0.2.1${',10.0.0.1'.repeat(count)}`;
    assert.equal(proxies.clientOf('127.0.0.1', hops(limits.forwardedHopsMax - 1)), '192.0.2.1');
    assert.equal(proxies.clientOf('127.0.0.1', hops(limits.forwardedHopsMax)), '10.0.0.1');
    assert.equal(proxies.clientOf('127.0.0.1', ','.repeat(1_000_000)), '127.0.0.1');
  });
});
