// The list of engines, for the suites that all of them must pass.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../src/domain/ports/engine.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';

/** An engine on data of its own. */
export interface OpenedEngine extends Pick<Engine, 'commitLog' | 'series' | 'coordination' | 'openMqttSessions'> {
  /** Seals all of the log. */
  seal(): Promise<void>;
  /** Closes the engine and opens it again on the same data. */
  reopen(): Promise<void>;
  /** Closes the engine and removes its data. */
  close(): Promise<void>;
}

export interface EngineKind {
  readonly name: string;
  open(): Promise<OpenedEngine>;
}

export const engines: readonly EngineKind[] = [{ name: 'SQLite', open: openEmbedded }];

async function openEmbedded(): Promise<OpenedEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-store-'));
  let embedded = await openEmbeddedEngine(folder);
  return {
    get commitLog() {
      return embedded.commitLog;
    },
    get series() {
      return embedded.series;
    },
    get coordination() {
      return embedded.coordination;
    },
    openMqttSessions: (rules) => embedded.openMqttSessions(rules),
    seal: () => embedded.seal(),
    reopen: async () => {
      await embedded.close();
      embedded = await openEmbeddedEngine(folder);
    },
    close: async () => {
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
