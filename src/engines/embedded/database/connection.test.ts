// Two processes create the same database file at once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { databaseFile, openConnection } from './connection.ts';

/** Holds the write lock of a new file for a while, as the process that has just created it does. */
const holder = `
  const { workerData, parentPort } = require('node:worker_threads');
  const database = new (require('node:sqlite').DatabaseSync)(workerData);
  database.exec('PRAGMA synchronous = OFF; BEGIN IMMEDIATE; CREATE TABLE made (by)');
  parentPort.postMessage('held');
  setTimeout(() => { database.exec('COMMIT'); database.close(); }, 200);`;

test('who comes while another makes the file waits for its turn', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, databaseFile);
  const worker = new Worker(holder, { eval: true, workerData: path });
  await once(worker, 'message');
  const database = openConnection(path, { readOnly: false });
  assert.deepEqual({ ...database.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'wal' });
  assert.equal(database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'made'").get() !== undefined, true);
  database.close();
  await once(worker, 'exit');
});
