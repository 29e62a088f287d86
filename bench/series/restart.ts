// Kills the server while arrays come in as fast as it takes them, so that its log is as full as it gets, and starts it
// again on the same folder.
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchOptions } from '../arguments.ts';
import { loggedDatapoints } from '../data-folder.ts';
import { type Fleet, startDundun } from '../fleet.ts';
import { Days, datapointsEach, dayPushes } from '../load/day-bodies.ts';
import { HttpLoad } from '../load/http-load.ts';
import type { LoadResult } from '../load/load.ts';
import type { Memory } from './memory.ts';

const kills = 3;
const fillMs = 3_000;
/** The load lasts longer than the server, which ends it. */
const loadS = 6;
const connections = 3;

export interface Restarts {
  readonly fleet: Fleet;
  readonly timesMs: readonly number[];
  /** Datapoints in the log a moment before each kill. */
  readonly logged: readonly number[];
  readonly sent: readonly LoadResult[];
}

export async function killAndRestart(
  first: Fleet,
  { dataDir, options, memory }: { readonly dataDir: string; readonly options: BenchOptions; readonly memory: Memory },
): Promise<Restarts> {
  let fleet = first;
  const days = new Days(first.sensors.length);
  const [timesMs, logged, sent]: [number[], number[], LoadResult[]] = [[], [], []];
  for (let kill = 0; kill < kills; kill++) {
    const { httpPort: port } = fleet.server;
    const next = dayPushes(fleet.sensors, { token: await fleet.token(), days });
    const load = new HttpLoad({ port, connections, next, weight: datapointsEach });
    const ended = load.run(loadS);
    await pause(fillMs);
    logged.push(await loggedDatapoints(fleet.server));
    memory.note();
    await fleet.server.kill();
    sent.push(await ended);
    fleet = fleet.on(await startDundun({ dataDir, profile: options.profile }));
    memory.follow(fleet.server);
    timesMs.push(fleet.server.startMs);
  }
  return { fleet, timesMs, logged, sent };
}
