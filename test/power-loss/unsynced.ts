// The planted fault of test/storage/power-loss.process.test.ts, imported before the service: connections of SQLite sync as
// TEST_SYNCHRONOUS says.
import { DatabaseSync } from 'node:sqlite';

const { exec } = DatabaseSync.prototype;
const level = process.env['TEST_SYNCHRONOUS'];

DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  exec.call(this, sql.replaceAll(/synchronous\s*=\s*(FULL|EXTRA)/gi, `synchronous = ${level}`));
};
