import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { databaseFile, openConnection } from './connection.ts';
import { measureUsage } from './data-usage.ts';

test('pages that are given back do not count as used until the file has become smaller', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
  const database = openConnection(join(folder, databaseFile), { readOnly: false });
  try {
    database.exec(
      'CREATE TABLE t (b BLOB); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT zeroblob(4000) FROM n',
    );
    database.exec('DELETE FROM t WHERE rowid > 500; PRAGMA wal_checkpoint(TRUNCATE)');
    const before = await measureUsage(folder, database);
    assert.ok(before.usedBytes < 2_500_000 && before.reusableBytes > 5_500_000, JSON.stringify(before));
    database.exec('PRAGMA incremental_vacuum(1000)');
    const meanwhile = await measureUsage(folder, database);
    assert.ok(meanwhile.usedBytes < before.usedBytes + 500_000, JSON.stringify([before, meanwhile]));
    assert.ok(meanwhile.reusableBytes > 5_500_000);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const after = await measureUsage(folder, database);
    assert.ok(after.usedBytes <= before.usedBytes && after.reusableBytes < 2_500_000, JSON.stringify(after));
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
});
