// When the files of a certificate are read again, and what happens when they cannot be used.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, createServer, type Server } from 'node:tls';
import { limits } from '../../config/limits.ts';
import { TurnedClock } from '../time/clock.ts';
import { Certificates } from './certificates.ts';

const pairs = join(import.meta.dirname, '../../../test/support/tls');
const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
const clock = new TurnedClock(0);
const said: string[] = [];
const say = (level: string) => (_fields: object, message: string) => said.push(`${level}: ${message}`);
const log = {
  debug: say('debug'),
  info: say('info'),
  warn: say('warn'),
  error: say('error'),
  fatal: say('fatal'),
  audit: say('audit'),
};

const readAnew = 'info: the TLS certificate was read anew';
const cannotBeUsed = 'error: the TLS certificate cannot be used; the one before stays';

let certificates: Certificates;
let server: Server;

function put(pair: 'first' | 'next', parts: readonly ('cert' | 'key')[] = ['cert', 'key']): void {
  const start = pair === 'first' ? '' : 'next-';
  for (const part of parts) copyFileSync(join(pairs, `${start}${part}.pem`), part === 'cert' ? certFile : keyFile);
}

before(async () => {
  put('first');
  certificates = new Certificates({ files: { certFile, keyFile }, clock, log });
  server = createServer(certificates.options);
  certificates.keepFresh(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await certificates.look();
});
after(async () => {
  await certificates.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The serial number of the certificate that a new connection is shown. */
function shown(): Promise<string> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** Looks until what stands in the files has been there for long enough. */
async function lookTwice(): Promise<readonly string[]> {
  said.length = 0;
  await certificates.look();
  assert.deepEqual(said, [], 'what changes is waited for');
  clock.advance(limits.certificateSettleMs);
  await certificates.look();
  return said;
}

test('files that change are read once they stay as they are, and half a change is not used', async () => {
  await certificates.reload();
  const first = await shown();
  assert.deepEqual(await lookTwice(), [], 'nothing changed');
  put('next', ['cert']);
  assert.deepEqual(await lookTwice(), [cannotBeUsed]);
  assert.equal(await shown(), first);
  assert.deepEqual(await lookTwice(), [], 'it is said once');
  put('next', ['key']);
  assert.deepEqual(await lookTwice(), [readAnew]);
  const next = await shown();
  assert.notEqual(next, first);
  for (const rubbish of ['', 'no certificate', '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n']) {
    writeFileSync(certFile, rubbish);
    assert.deepEqual(await lookTwice(), [cannotBeUsed], JSON.stringify(rubbish));
    assert.equal(await shown(), next);
  }
  rmSync(certFile);
  assert.deepEqual(await lookTwice(), [cannotBeUsed]);
  put('first');
  assert.deepEqual(await lookTwice(), [readAnew]);
  assert.equal(await shown(), first);
});

test('files that are written again and again are waited for', async () => {
  said.length = 0;
  for (let n = 1; n <= 5; n++) {
    utimesSync(certFile, n, n);
    await certificates.look();
    clock.advance(limits.certificateSettleMs);
  }
  assert.deepEqual(said, []);
  await certificates.look();
  assert.deepEqual(said, [readAnew]);
});

test('asked to, it reads at once, and several times at once as well', async () => {
  said.length = 0;
  put('next');
  await Promise.all([certificates.reload(), certificates.reload()]);
  assert.deepEqual(said, [readAnew, readAnew]);
  put('first');
  await certificates.reload();
});
