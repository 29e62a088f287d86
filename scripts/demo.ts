// `npm run demo`: real readings of four wireless motes through REST and MQTT into a Dundun and back out again.
// Fails unless everything that went in comes out. `npm run demo -- --help` explains the options.

import { type Mote, readMotes } from './demo/motes.ts';
import { publishMote } from './demo/mqtt.ts';
import { parseOptions, type ServerAddress } from './demo/options.ts';
import { startOwnServer } from './demo/own-server.ts';
import { grouped, Progress } from './demo/progress.ts';
import { Rest } from './demo/rest.ts';
import { isSame, renderSensors, renderWindow, type SensorResult } from './demo/tables.ts';

/** These push over REST, the others publish over MQTT. */
const restMotes = new Set(['mote-1', 'mote-2']);
/** Its event is the one that is shown. */
const eventMote = 'mote-3';

try {
  const options = parseOptions(process.argv.slice(2));
  if (options.server === undefined) await runOnOwnServer();
  else await run(options.server, { fresh: options.fresh });
} catch (error) {
  console.error(`demo: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function runOnOwnServer(): Promise<void> {
  console.log('Starting a server in a temporary folder …');
  const server = await startOwnServer();
  try {
    await run(server, { fresh: false });
  } finally {
    await server.stop();
  }
}

async function run(server: ServerAddress, options: { readonly fresh: boolean }): Promise<void> {
  const motes = readMotes();
  const rest = await Rest.signIn(server);
  await register(rest, motes, options);
  await send(server, rest, motes);
  const results = await readBack(rest, motes);
  const sentCount = results.reduce((sum, { sensor }) => sum + sensor.datapoints.length, 0);
  const storedCount = results.reduce((sum, { stored }) => sum + stored.length, 0);
  console.log(`\nRead back, times of ${motes[0]?.sensors[0]?.datapoints[0]?.timestamp.slice(0, 10)} (UTC):\n`);
  console.log(renderSensors(results));
  await showEvent(rest, motes);
  console.log(`\n${grouped(sentCount)} datapoints in, ${grouped(storedCount)} out.`);
  const different = results.filter((result) => !isSame(result));
  if (different.length === 0) return;
  const names = different.map(({ mote, sensor }) => `${mote.id}/${sensor.id}`).join(', ');
  throw new Error(`What came out is not what went in: ${names}.`);
}

async function register(rest: Rest, motes: readonly Mote[], { fresh }: { readonly fresh: boolean }): Promise<void> {
  for (const { id } of motes) {
    if (fresh) await rest.removeDevice(id);
    else if (await rest.deviceExists(id))
      throw new Error(
        `There is a device ${id} on this server already, and nothing was changed. Run again with --fresh to delete ` +
          'mote-1 to mote-4 with all their datapoints and send them anew.',
      );
  }
  for (const mote of motes) await rest.createDevice(mote);
  console.log(`Registered ${motes.map(({ id }) => id).join(', ')}, each with temperature and humidity.`);
}

async function send(server: ServerAddress, rest: Rest, motes: readonly Mote[]): Promise<void> {
  const total = motes.flatMap(({ sensors }) => sensors).reduce((sum, { datapoints }) => sum + datapoints.length, 0);
  console.log(`Sending ${grouped(total)} datapoints, half over REST, half over MQTT with QoS 1:`);
  const progress = new Progress(total);
  const sent = (count: number) => progress.add(count);
  await Promise.all(
    motes.flatMap((mote) =>
      restMotes.has(mote.id)
        ? mote.sensors.map((sensor) => rest.push(pathOf(mote, sensor), sensor.datapoints, sent))
        : [publishMote(server, mote, sent)],
    ),
  );
  progress.finish();
}

async function readBack(rest: Rest, motes: readonly Mote[]): Promise<SensorResult[]> {
  const results: SensorResult[] = [];
  for (const mote of motes) {
    const way = restMotes.has(mote.id) ? 'REST' : 'MQTT';
    for (const sensor of mote.sensors)
      results.push({ mote, sensor, way, stored: await rest.read(pathOf(mote, sensor)) });
  }
  return results;
}

async function showEvent(rest: Rest, motes: readonly Mote[]): Promise<void> {
  const mote = motes.find(({ id }) => id === eventMote);
  if (mote?.event === undefined) throw new Error(`The readings hold no event of ${eventMote}.`);
  const columns = [];
  for (const sensor of mote.sensors)
    columns.push({
      title: `${sensor.id} ${sensor.unit}`,
      points: await rest.read(pathOf(mote, sensor), mote.event),
    });
  const counts = columns.map(({ points }) => points.length).join(' and ');
  console.log(`\nThe event introduced at ${mote.id} (${counts} datapoints, every tenth shown):\n`);
  console.log(renderWindow(columns));
}

function pathOf(mote: Mote, sensor: { readonly id: string }): string {
  return `devices/${mote.id}/sensors/${sensor.id}`;
}
