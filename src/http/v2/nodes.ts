// The servers on the data, for admins (issue 18).
import { formatTimestamp } from '../../base/time/timestamp.ts';
import type { NodeReport } from '../../domain/ports/nodes.ts';
import { NodesSchema } from '../schemas/node-schemas.ts';
import { overload, refusals, type TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';

export function registerNodes(app: TypedApp, { nodes }: Services): void {
  app.get(
    '/nodes',
    {
      schema: {
        tags: ['Settings'],
        operationId: 'listNodes',
        summary: 'List the servers of the service',
        description:
          'For admins, with a token. Where the data are in a folder there is one server; those on a PostgreSQL database tell of themselves every second. A server that ends leaves the list; so does one that was declared dead because it gave no sign of life for some seconds.',
        response: { 200: NodesSchema, ...refusals, 503: overload[503] },
      },
    },
    async (request) => {
      const { isShared, nodes: all } = await nodes.list(request.actor);
      return { shared: isShared, nodes: all.map(toNodeRecord) };
    },
  );
}

function toNodeRecord(node: NodeReport) {
  const { id, isOwn, startedMs, lastSeenMs, isAlive, behind, behindLog, leases, figures } = node;
  const { host, release, connections, datapointsPerSecond = 0 } = figures ?? {};
  return {
    id,
    answering: isOwn,
    ...(host === undefined ? {} : { host }),
    ...(release === undefined ? {} : { release }),
    started: formatTimestamp(startedMs),
    last_seen: formatTimestamp(lastSeenMs),
    alive: isAlive,
    behind: { datapoints: behindLog, changes: behind },
    leases: [...leases],
    ...(connections === undefined
      ? {}
      : { connections: { ...connections }, datapoints_per_second: Number(datapointsPerSecond.toPrecision(3)) }),
  };
}
