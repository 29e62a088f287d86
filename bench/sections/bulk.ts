// Pushes of 30 000 datapoints, as gateways send them that were offline. No target: to know where it stands.
import type { BenchOptions } from '../arguments.ts';
import { takeTurns } from '../comparison.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { HttpLoad, type NextRequest } from '../load/http-load.ts';
import { summarise } from '../load/load.ts';
import { readingText } from '../load/readings.ts';
import { judgeCounts, roundsTable, type Section } from '../section.ts';

const datapointsEach = 30_000;
/** Three such pushes at once stay below the bound of the server's queue. */
const connections = 3;
const devices = 10;

export async function measureBulk(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices, sensorsEach: 2, profile: options.profile });
  try {
    const load = async (seconds: number) => {
      const next = bulkPushes(fleet.sensors, await fleet.token());
      return new HttpLoad({ port: fleet.server.httpPort, connections, next, weight: datapointsEach }).run(seconds);
    };
    const [ours] = await takeTurns('bulk', [{ name: 'Dundun', server: fleet.server, load }], options);
    const loadedMib = fleet.server.rssMib();
    const counts = judgeCounts(ours?.all ?? [], await fleet.count());
    return {
      title: 'Pushes of 30 000 datapoints over REST',
      how: `${connections} connections, arrays of ${shown(datapointsEach)} datapoints; rates in datapoints. ${counts.line}`,
      tables: [
        roundsTable([{ name: 'Dundun', rounds: summarise(ours?.measured ?? []) }]),
        table(['memory of Dundun', 'MiB'], [['after the rounds', shown(loadedMib)]]),
      ],
      verdicts: [],
      faults: counts.faults,
    };
  } finally {
    await fleet.server.stop();
  }
}

function bulkPushes(sensors: readonly string[], token: string): NextRequest {
  const body = `[${Array.from({ length: datapointsEach }, readingText).join(',\n')}]`;
  const requests = sensors.map((sensor) =>
    Buffer.from(
      `POST /api/v2/${sensor}/values HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    ),
  );
  let turn = 0;
  return () => requests[turn++ % requests.length] as Buffer;
}
