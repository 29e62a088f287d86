// A server whose devices get other ids. Each test has a device of its own, `from`, that `rename` gives the id `to`.
import { after, before, beforeEach } from 'node:test';
import { make } from './api/calls.ts';
import type { As } from './people.ts';
import { TestServer } from './test-server.ts';

export const yearMs = 365 * 24 * 3_600_000;

/** Starts the server before the tests of the file that calls this at its top. */
export function renamedDevices(): RenamedDevices {
  const devices = new RenamedDevices();
  before(() => devices.start());
  after(() => devices.server.stop());
  beforeEach(() => devices.next());
  return devices;
}

class RenamedDevices {
  server!: TestServer;
  from = '';
  to = '';
  /** How many tests have begun: for ids that no other test has. */
  count = 0;

  async start(): Promise<void> {
    this.server = await TestServer.start();
  }

  async next(): Promise<void> {
    this.count += 1;
    this.from = `before-${this.count}`;
    this.to = `after-${this.count}`;
    await this.addDevice(this.from);
  }

  addDevice = async (id: string, { as = 'owner' as As, visibility = 'private' } = {}) => {
    const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a', actuator_value_type: 'number' }] };
    await make(this.server, { as, call: 'POST /devices', json: { id, visibility, ...parts }, expect: 204 });
  };

  rename = (expect: number, { as = 'owner' as As, id = this.from, into = this.to } = {}) => {
    // Former ids are told in the order of their times.
    this.server.clock.advance(1);
    return make(this.server, { as, call: `PUT /devices/${id}/id`, text: into, expect });
  };

  push = (id: string, value: number, expect = 204, as: As = 'owner') =>
    make(this.server, { as, call: `POST /devices/${id}/sensors/s/values`, json: { value }, expect });

  values = async (id: string) => {
    const { body } = await make(this.server, { as: 'owner', call: `GET /devices/${id}/sensors/s/values`, expect: 200 });
    return body.map(({ value }: { value: unknown }) => value);
  };

  former = async (id: string, as: As = 'owner') => {
    const { body } = await make(this.server, { as, call: `GET /devices/${id}/former_ids`, expect: 200 });
    return body.map((entry: { id: string }) => entry.id);
  };
}
