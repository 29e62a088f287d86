// MQTT 5 clause by clause: every row of the tables of this folder, at the door of a server of ours.
import { after, before, suite } from 'node:test';
import { TestServer } from '../../support/test-server.ts';
import { acknowledgementRows } from './acknowledgement-rows.ts';
import { aliasRows } from './alias-rows.ts';
import { type Door, testRows } from './clause-rows.ts';
import { connectRows } from './connect-rows.ts';
import { disconnectRows } from './disconnect-rows.ts';
import { expiryRows } from './expiry-rows.ts';
import { flowRows } from './flow-rows.ts';
import { propertyRows } from './property-rows.ts';
import { publishRows } from './publish-rows.ts';
import { retainRows } from './retain-rows.ts';
import { sessionRows } from './session-rows.ts';
import { sharedRows } from './shared-rows.ts';
import { subscribeRows } from './subscribe-rows.ts';
import { willRows } from './will-rows.ts';

let server: TestServer;
let door: Door;

before(async () => {
  server = await TestServer.start();
  door = {
    get running() {
      return server.running;
    },
    settle: () => server.running.idle(),
    pass: async (seconds) => server.clock.advance(seconds * 1_000),
  };
});
after(() => server.stop());

const tables = {
  'connecting: a row holds of': connectRows,
  'a session: a row holds of': sessionRows,
  'publishing: a row holds of': publishRows,
  'properties: a row holds of': propertyRows,
  'what is retained: a row holds of': retainRows,
  'acknowledging: a row holds of': acknowledgementRows,
  'subscribing: a row holds of': subscribeRows,
  'expiry: a row holds of': expiryRows,
  'topic aliases: a row holds of': aliasRows,
  'flow control: a row holds of': flowRows,
  'shared subscriptions: a row holds of': sharedRows,
  'wills: a row holds of': willRows,
  'disconnecting: a row holds of': disconnectRows,
};

for (const [name, rows] of Object.entries(tables)) {
  suite(name, () => testRows(rows, () => door));
}
