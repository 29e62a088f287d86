// Where a program is on the PATH; for what may be used beside Node.js and is not always there.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, globSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the program; undefined where there is none. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The newest PostgreSQL where Debian puts it, which is not on the PATH. */
export function findPostgres(): string | undefined {
  const versionOf = (path: string) => Number(/\/(\d+)\/bin\//.exec(path)?.[1] ?? 0);
  const found = globSync('/usr/lib/postgresql/*/bin/postgres').filter(isExecutable);
  return found.sort((one, other) => versionOf(one) - versionOf(other)).at(-1);
}

/** PgBouncer where Debian puts it, which is on the PATH of root alone. */
export function findPgBouncer(): string | undefined {
  return ['/usr/sbin/pgbouncer'].find(isExecutable);
}

/** A Python with the Paho client: that of Debian's package, or the one on the PATH. */
export function findPaho(): string | undefined {
  const hasPaho = (python: string) =>
    spawnSync(python, ['-c', 'import paho.mqtt.client'], { stdio: 'ignore' }).status === 0;
  const found = ['/usr/bin/python3', findProgram('python3')].filter((path) => path !== undefined);
  return found.find((path) => isExecutable(path) && hasPaho(path));
}
