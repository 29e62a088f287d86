// What a data folder takes on the disk, and when a server has put all that it holds where it stays.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../src/config/limits.ts';
import type { ServerProcess } from './server-process.ts';

const blockBytes = 512;

/** Bytes of all files in it, as the file system keeps them. */
export function bytesOnDisk(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * blockBytes, 0);
}

const stepMs = 500;
/** As long may a server rest before it goes on with what is left in its log, and some more. */
const restMsMax = limits.sealQuietMs + 15_000;

/** Resolves when the log is empty or stays as it is, and the process does nothing more. */
export async function untilSealed(server: ServerProcess): Promise<void> {
  let before = await loggedDatapoints(server);
  for (let stillMs = 0; before > 0 && stillMs < restMsMax; stillMs += stepMs) {
    await pause(stepMs);
    const now = await loggedDatapoints(server);
    if (now !== before) stillMs = 0;
    before = now;
  }
  await server.quiet();
}

/** The same, and the folder has become as small as it will: what is free goes back once the service is at rest. */
export async function untilSettled(server: ServerProcess, folder: string): Promise<void> {
  await untilSealed(server);
  let before = bytesOnDisk(folder);
  for (let stillMs = 0; stillMs < restMsMax; stillMs += stepMs) {
    await pause(stepMs);
    const now = bytesOnDisk(folder);
    if (now !== before) stillMs = 0;
    before = now;
  }
  await server.quiet();
}

/** Datapoints in the log. */
export async function loggedDatapoints(server: ServerProcess): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text();
  return Number(/^dundun_log_datapoints (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}
