// That what a server has stored contradicts nothing: the checks of `dundun check`, on the server's own data.
import assert from 'node:assert/strict';
import { findingsIn } from './data.ts';
import type { TestServer } from './test-server.ts';

export async function assertSound({ folder }: TestServer): Promise<void> {
  assert.deepEqual(await findingsIn(folder), []);
}
