// That what a server has stored contradicts nothing: the checks of `dundun check`, on the server's own folder.
import assert from 'node:assert/strict';
import { maintenance } from '../../src/engines/open.ts';
import type { TestServer } from './test-server.ts';

export async function assertSound({ folder }: TestServer): Promise<void> {
  const reports = await maintenance.check(folder, () => {});
  assert.deepEqual(
    reports.flatMap(({ findings }) => findings),
    [],
  );
}
