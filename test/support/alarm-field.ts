// A field with a device of its own for each test, and what tests of alarms do there: push, make rules, look.
import { after, afterEach, before, beforeEach } from 'node:test';
import { make } from './api/calls.ts';
import type { EventStream } from './peers/event-stream.ts';
import { addUsers } from './people.ts';
import { TestServer } from './test-server.ts';

export interface AlarmField {
  readonly server: TestServer;
  /** The id of the device; a test that renames it says so. */
  device: string;
  /** Closed after each test. */
  readonly streams: EventStream[];
  readonly push: (value: unknown, by?: { readonly sensor?: string; readonly as?: string }) => Promise<void>;
  readonly addRule: (fields?: object, by?: { readonly as?: string; readonly expression?: string }) => Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body.
  readonly list: (as?: string, query?: string) => Promise<any[]>;
  readonly share: (username: string, ...scopes: string[]) => Promise<unknown>;
  /** Makes a rule and has it hold; gives the id of the alarm. */
  readonly raise: (as?: string) => Promise<string>;
}

/** Starts a server before the tests of the file and stops it after them. */
export function alarmField(): AlarmField {
  let server: TestServer;
  let devices = 0;
  const streams: EventStream[] = [];
  const field: AlarmField = {
    get server() {
      return server;
    },
    device: '',
    streams,
    push: async (value, { sensor = 's', as = 'owner' } = {}) => {
      const call = `POST /devices/${field.device}/sensors/${sensor}/values`;
      await make(server, { as, call, json: { value }, expect: 204 });
      await server.running.idle();
    },
    addRule: async (fields = {}, { as = 'owner', expression = 's>40' } = {}) => {
      const condition = { devices: [field.device], sensors: ['s'], expression };
      const action = { usernames: [as], channels: ['none'], message: '{s}' };
      const json = { description: 'Too hot', condition, action, ...fields };
      return (await make(server, { as, call: 'POST /notifications', json, expect: 200 })).text;
    },
    list: async (as = 'owner', query = '') =>
      (await make(server, { as, call: `GET /alarms?device=${field.device}${query}`, expect: 200 })).body,
    share: (username, ...scopes) => {
      const call = `PUT /devices/${field.device}/shares/${username}`;
      return make(server, { as: 'owner', call, json: { scopes }, expect: 204 });
    },
    raise: async (as = 'owner') => {
      await field.addRule({}, { as });
      await field.push(41);
      return (await field.list(as))[0].id;
    },
  };
  before(async () => {
    server = await TestServer.start();
    await addUsers(server.folder, ['viewer', 'reader', 'updater'], server.clock);
  });
  after(() => server.stop());
  beforeEach(async () => {
    devices += 1;
    field.device = `alarms-${devices}`;
    const sensors = [{ id: 's', name: 'Temperature', unit: 'degree Celsius' }, { id: 't' }];
    const location = { latitude: 1, longitude: 2 };
    const json = { id: field.device, name: 'Field', gateway_id: 'gw', location, sensors };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  });
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
  });
  return field;
}
