// Makes the files of which each server of PostgreSQL in a whole run of the tests is a copy, and prints their folder, which the run removes
// (test-rounds.ts). A process of its own, because a signal ends who has loaded what starts servers.
import { PostgresServer } from '../test/support/postgres.ts';

console.log(await PostgresServer.prepare());
