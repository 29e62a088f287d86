// The search thread: runs the queries of lists and counts, whose time grows with the data, on a connection of its own.
// Queries call the SQL function `within_time()` repeatedly (engines/shared/registry/conditions/time-guard.ts), which
// throws when their time is up: node:sqlite cannot interrupt a query from outside. Started by search-thread-client.ts.
import '../../../base/threads/thread-limits.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../../base/refusal.ts';
import { lowerPriority, niceness } from '../../../base/threads/thread-priority.ts';
import { limits } from '../../../config/limits.ts';
import { openConnection } from '../database/connection.ts';
import { provideNaturalKey } from '../database/natural-key.ts';
import { StatementCache } from '../database/statement-cache.ts';
import { LastSeenIndex } from '../reads/last-seen-index.ts';
import { LastValueFilter } from '../reads/last-value-filter.ts';
import type { SearchRequest, SearchResponse } from './search-protocol.ts';

if (parentPort === null) throw new Error('Searches run in a thread of their own.');
lowerPriority(niceness.reading);
const port = parentPort;
const { path } = workerData as { path: string };
const database = openConnection(path, { readOnly: true });
const statements = new StatementCache(database);
const lastSeen = new LastSeenIndex(database);
let endMs = Number.POSITIVE_INFINITY;

const checkTime = () => {
  if (performance.now() > endMs) throw tooLong();
};
database.function('within_time', () => {
  checkTime();
  return 1;
});
provideNaturalKey(database);
const lastValues = new LastValueFilter(database, checkTime);

port.on('message', (request: SearchRequest) => {
  endMs = performance.now() + limits.searchMsMax;
  try {
    if (request.isMoved) lastSeen.clear();
    if (request.lastSeen !== undefined) lastSeen.update(request.lastSeen);
    for (const device of request.lost) lastSeen.recount(device);
    const rows = statements.prepare(request.sql).all(...request.parameters);
    port.postMessage({ id: request.id, rows } satisfies SearchResponse);
  } catch (error) {
    const { message } = error as Error;
    const isRefusal = error instanceof Refusal;
    port.postMessage({ id: request.id, ...(isRefusal ? { refusal: message } : { fault: message }) } as SearchResponse);
  } finally {
    lastValues.clear();
  }
});

function tooLong(): Refusal {
  const seconds = limits.searchMsMax / 1000;
  return new Refusal('busy', `The list took longer than ${seconds} s to find. Ask with a narrower filter, or later.`);
}
