// Builds the dashboard for tests in a browser if it is not built or has changed. scripts/test.ts calls it before it
// starts the files, because every server reads the built files when it starts; a test file that finds a later change
// builds again.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('../../', import.meta.url));
const lockFile = `${cwd}node_modules/.cache/dundun/dashboard-build.lock`;
/** Milliseconds for which one waits for the build of another. */
const waitMsMax = 300_000;

/** To be called before a server starts. */
export function buildWhereStale(): void {
  oneAtATime(() => {
    if (isFresh()) return;
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build-dashboard.ts'], { cwd, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });
}

function isFresh(): boolean {
  const built = `${cwd}dashboard/dist/index.html`;
  const sources = globSync(['dashboard/{src,public}/**/*.*', 'dashboard/*.*'], { cwd }).map((file) => `${cwd}${file}`);
  const changedMs = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  return existsSync(built) && statSync(built).mtimeMs > changedMs;
}

/** Test files run side by side, and would write into one folder. SQLite's lock ends with the process, however it ends. */
function oneAtATime(work: () => void): void {
  mkdirSync(dirname(lockFile), { recursive: true });
  const lock = new DatabaseSync(lockFile, { timeout: waitMsMax });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    work();
  } finally {
    lock.close();
  }
}
