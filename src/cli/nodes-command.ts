// `dundun nodes`: which servers are on the database, whether they live, and what they hold.
import type { NodeReport } from '../domain/ports/nodes.ts';
import { readNodes } from '../engines/open.ts';
import { fail, readConfig } from './read-config.ts';

export async function listNodes(options: { readonly json?: true }): Promise<void> {
  const { config } = readConfig();
  try {
    const { nodes, connections } = await readNodes(config);
    if (options.json) {
      console.log(JSON.stringify({ nodes, connections }));
      return;
    }
    if (nodes.length === 0) console.log('No server is on the database.');
    for (const node of nodes) for (const line of linesOf(node)) console.log(line);
    const all = connections.map(({ name, count }) => `${name} ${count}`);
    console.log(`connections: ${all.length === 0 ? 'none' : all.join(', ')}`);
  } catch (error) {
    fail(error);
  }
}

function linesOf({ id, startedMs, silentMs, isAlive, behind, behindLog, leases, figures }: NodeReport): string[] {
  const state = isAlive ? 'alive' : `silent for ${Math.round(silentMs / 1_000)} s`;
  const lines = [
    `${id}  ${state}, since ${new Date(startedMs).toISOString()}`,
    `  holds: ${leases.length === 0 ? 'nothing' : leases.join(', ')}`,
  ];
  if (figures !== undefined) {
    const { host, release, connections, datapointsPerSecond } = figures;
    lines.push(
      `  on ${host}, release ${release}: ${connections.http} connections of HTTP, ${connections.mqtt} of MQTT, ${datapointsPerSecond.toFixed(1)} datapoints a second`,
    );
  }
  if (behindLog > 0) lines.push(`  has not read ${behindLog} datapoints yet`);
  if (behind > 0) lines.push(`  has not heard of ${behind} changes yet`);
  return lines;
}
