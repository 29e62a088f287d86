// `dundun nodes`: which servers are on the database, whether they live, and what they hold.
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
    for (const { id, startedMs, silentMs, isAlive, behind, behindLog, leases } of nodes) {
      const state = isAlive ? 'alive' : `silent for ${Math.round(silentMs / 1_000)} s`;
      console.log(`${id}  ${state}, since ${new Date(startedMs).toISOString()}`);
      console.log(`  holds: ${leases.length === 0 ? 'nothing' : leases.join(', ')}`);
      if (behindLog > 0) console.log(`  has not read ${behindLog} datapoints yet`);
      if (behind > 0) console.log(`  has not heard of ${behind} changes yet`);
    }
    const all = connections.map(({ name, count }) => `${name} ${count}`);
    console.log(`connections: ${all.length === 0 ? 'none' : all.join(', ')}`);
  } catch (error) {
    fail(error);
  }
}
