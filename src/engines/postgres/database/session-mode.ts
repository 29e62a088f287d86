// Finds out at a start whether connections to the database are sessions. A pool between may lead each transaction of a client to another
// session (PgBouncer in transaction mode): then locks, LISTEN and settings would belong to whoever comes next, without an error.
import pg from 'pg';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { connectionSettings } from './connection-settings.ts';

/**
 * Compares the sessions in which two connections are answered: a pool that shares them out gives two clients the same one, or one client
 * another than before. @param one asks over a connection that is open. @throws Refusal `conflict`
 */
export async function assertSessions(one: () => Promise<number>, url: string): Promise<void> {
  const client = new pg.Client(connectionSettings(url, 'sessions'));
  client.on('error', () => {});
  try {
    await client.connect();
    const other = () => sessionOf(client);
    for (let look = 0; look < limits.postgresSessionLooks; look++) {
      const seen = [await one(), await other(), await one()];
      if (seen[0] !== seen[2] || seen[0] === seen[1])
        throw new Refusal(
          'conflict',
          'A pool before the database shares its sessions out for each transaction; a session for each connection is needed (PgBouncer: pool_mode = session).',
        );
    }
  } finally {
    await client.end();
  }
}

/** Which session of the database answers. */
export async function sessionOf(client: Pick<pg.ClientBase, 'query'> | Pick<pg.Pool, 'query'>): Promise<number> {
  const { rows } = await (client as pg.Client).query<{ session: number }>('SELECT pg_backend_pid() AS session');
  return rows[0]?.session ?? 0;
}
