// A server on which the owner shares a gateway and a project, of which each test has its own.
import { after, before, beforeEach } from 'node:test';
import { make, makeAll } from './api/calls.ts';
import { addUsers } from './people.ts';
import { TestServer } from './test-server.ts';

export const deviceScopes = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
export const kinds = ['gateway', 'project'] as const;
type Kind = (typeof kinds)[number];

export const withDevices = { with_devices: true };

interface DoorCarries {
  readonly version?: 'v1';
  readonly json?: unknown;
  readonly text?: string;
}

/** Doors that tell by their status who may, each with what it needs. Pushes and settings do not depend on the order. */
export function doorsOf(id: string) {
  const path = `/devices/${id}`;
  const older = `/sensors/${id}`;
  const version = 'v1';
  const [view, update, data, create] = ['devices:view', 'devices:update', 'devices-data:view', 'devices-data:create'];
  return [
    [`GET ${path}`, {}, [view], 200],
    [`GET ${older}`, { version }, [view], 200],
    [`GET ${path}/sensors/s/values`, {}, [data], 200],
    [`GET ${path}/sensors/s/values?format=csv`, {}, [data], 200],
    [`GET ${older}/measurements/s/values`, { version }, [data], 200],
    [`GET /sensors_data?device_id=${id}&sensor_id=s`, {}, [data], 200],
    [`POST ${path}/sensors/s/value`, { json: { value: 1 } }, [create], 204],
    [`POST ${path}/sensors/s/values`, { json: [{ value: 1 }] }, [create], 204],
    [`POST ${older}/measurements/s/values`, { version, json: { value: 1 } }, [create], 200],
    [`PUT ${path}/actuators/a/value`, { json: 1 }, [create, update], 204],
    [`PUT ${path}/name`, { text: 'named' }, [update], 204],
    [`PUT ${older}/name`, { version, text: 'named' }, [update], 200],
  ] as readonly (readonly [string, DoorCarries, readonly (string | undefined)[], number])[];
}

/** Starts the server before the tests of the file that calls this at its top. */
export function sharedRecords(): SharedRecords {
  const records = new SharedRecords();
  before(() => records.start());
  after(() => records.server.stop());
  beforeEach(() => records.next());
  return records;
}

class SharedRecords {
  server!: TestServer;
  /** Ids of this test: a gateway, a project, and a device of both. They belong to `owner`. */
  g = '';
  p = '';
  d = '';
  #count = 0;

  async start(): Promise<void> {
    this.server = await TestServer.start();
    await addUsers(this.server.folder, ['fourth'], this.server.clock);
  }

  async next(): Promise<void> {
    this.#count += 1;
    const [g, p, d] = [`g-${this.#count}`, `p-${this.#count}`, `d-${this.#count}`];
    Object.assign(this, { g, p, d });
    await makeAll(this.server, [
      { as: 'owner', call: 'POST /gateways', json: { id: g, name: 'Roof' }, expect: 200 },
      { as: 'owner', call: 'POST /projects', json: { id: p, name: 'Onions', device_ids: [d] }, expect: 200 },
      this.device('owner', d, { gateway_id: g }),
    ]);
  }

  device = (as: string, id: string, more: object = {}) => {
    const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
    return { as, call: 'POST /devices', json: { id, ...parts, ...more }, expect: 204 };
  };

  pathOf = (kind: Kind) => `/${kind}s/${kind === 'gateway' ? this.g : this.p}`;

  share = (kind: Kind, scopes: readonly string[], more: object = {}) => {
    const { as = 'owner', user = 'sharer', expect = 204, ...body } = more as Record<string, never>;
    return { as, call: `PUT ${this.pathOf(kind)}/shares/${user}`, json: { scopes, ...body }, expect };
  };

  unshare = (kind: Kind) => ({ as: 'owner', call: `DELETE ${this.pathOf(kind)}/shares/sharer`, expect: 204 });

  /** What the user holds on a record, as the query for permissions says. */
  heldBy = async (as: string, kind: string, id: string): Promise<readonly string[]> => {
    const { body } = await make(this.server, { as, call: `GET /auth/permissions/${kind}s`, expect: 200 });
    return body.find(({ resource }: { resource: string }) => resource === id)?.scopes ?? [];
  };
}
