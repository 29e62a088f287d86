// What every engine must do alike with gateways and projects. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { Gateway } from '../../../src/domain/gateways/gateway.ts';
import type { Project } from '../../../src/domain/projects/project.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, everybody, found, many, Records, succeeded } from './records.ts';
import { anyJson, anyText } from './texts.ts';

const visibility = fc.constantFrom('public' as const, 'private' as const);

export function gatewaysSuite({ name, open }: EngineKind): void {
  suite(`gateways on ${name}`, () => {
    let opened: OpenedEngine;
    let owner: User;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
      owner = await records.user();
    });
    after(() => opened.close());

    test('a gateway is read back whole, now and after reopening', async () => {
      const fields = fc.record({ visibility, name: anyText, location: anyJson }, { requiredKeys: ['visibility'] });
      const made: Gateway[] = [];
      const property = fc.asyncProperty(anyText, fields, fc.nat(), async (text, own, atMs) => {
        const draft = { ...own, id: records.name(text) };
        await opened.stores.gateways.create(draft, owner.key, atMs);
        const gateway = found(await opened.stores.gateways.find(draft.id));
        const { key } = gateway;
        const who = { kind: 'gateway', key, ownerKey: owner.key, owner: owner.username };
        assert.deepEqual(gateway, { ...who, ...draft, dateCreatedMs: atMs, dateModifiedMs: atMs });
        made.push(gateway);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      const listed = await opened.stores.gateways.list({
        audience: everybody,
        filter: [],
        after: 0,
        limit: many,
        offset: 0,
      });
      assert.deepEqual(listed, made);
      const byIds = await opened.stores.gateways.listByIds([...made.map(({ id }) => id), 'none']);
      assert.deepEqual(byIds.toSorted((a, b) => a.key - b.key), made); // biome-ignore format: short
      assert.deepEqual(await opened.stores.gateways.listByIds([]), []);
    });

    test('an id that is taken is refused, and so is a gateway of nobody', async () => {
      const { id } = await records.gateway(owner);
      const other = await records.user();
      const changed = await records.changedBy(async () => {
        await assertRefused(records.gateway(other, { id }), 'exists');
        await assertRefused(records.gateway({ ...other, key: 2 ** 40 }), 'not-found');
      });
      assert.deepEqual(changed, []);
      const asked = Array.from({ length: 20 }, () => records.gateway(owner, { id: 'wanted' }));
      assert.equal(await succeeded(asked, 'exists'), 1);
    });

    test('a change sets the fields it names, removes those named without a value, and touches nothing else', async () => {
      let gateway = await records.gateway(owner, { name: 'x', location: { latitude: 1 } });
      await opened.stores.gateways.saveLastSeen([{ gateway: gateway.key, atMs: 5 }]);
      gateway = found(await opened.stores.gateways.find(gateway.id));
      await records.gateway(owner);
      const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
      const change = fc.record({ name: maybe(anyText), visibility: maybe(visibility), location: maybe(anyJson) }, { requiredKeys: [] }); // biome-ignore format: short
      const property = fc.asyncProperty(change, fc.integer({ min: nowMs + 1, max: 8.64e15 }), async (named, atMs) => {
        const changed = await records.changedBy(() => opened.stores.gateways.update(gateway.key, named, atMs));
        assert.ok(changed.every((label) => [`gateway ${gateway.id}`, `usage of ${owner.username}`].includes(label)));
        const expected: Record<string, unknown> = { ...gateway, ...named, dateModifiedMs: atMs };
        expected['visibility'] ??= gateway.visibility;
        for (const field of ['name', 'location']) if (expected[field] === undefined) delete expected[field];
        gateway = found(await opened.stores.gateways.find(gateway.id));
        assert.deepEqual(gateway, expected);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
    });

    test('a gateway has a new owner, is heard, and is removed, and no other', async () => {
      const { gateways } = opened.stores;
      const [gateway, gone, other] = [await records.gateway(owner), await records.gateway(owner), await records.user()];
      const moved = await records.changedBy(() => gateways.setOwner(gateway.key, other.key, nowMs + 1));
      assert.deepEqual(
        moved,
        [`gateway ${gateway.id}`, `usage of ${other.username}`, `usage of ${owner.username}`].sort(),
      );
      const removed = await records.changedBy(() => gateways.remove(gone.key));
      assert.deepEqual(removed, [`gateway ${gone.id}`, `usage of ${owner.username}`]);
      const updates = [gone, gateway].map(({ key }, n) => ({ gateway: key, atMs: nowMs + n }));
      assert.deepEqual(await records.changedBy(() => gateways.saveLastSeen(updates)), [`gateway ${gateway.id}`]);
      assert.deepEqual(await records.changedBy(() => gateways.saveLastSeen([])), []);
      const earlier = updates.map((update) => ({ ...update, atMs: update.atMs - 1 }));
      assert.deepEqual(await records.changedBy(() => gateways.saveLastSeen(earlier)), []);
      await opened.reopen();
      const heir = { ownerKey: other.key, owner: other.username, dateModifiedMs: nowMs + 1 };
      assert.deepEqual(await opened.stores.gateways.find(gateway.id), { ...gateway, ...heir, lastSeenMs: nowMs + 1 });
      assert.equal(await opened.stores.gateways.find(gone.id), undefined);
      assert.ok((await records.gateway(owner, { id: gone.id })).key > gone.key);
    });
  });
}

export function projectsSuite({ name, open }: EngineKind): void {
  suite(`projects on ${name}`, () => {
    let opened: OpenedEngine;
    let owner: User;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
      owner = await records.user();
    });
    after(() => opened.close());

    const ids = fc.array(anyText, { maxLength: 4 });

    test('a project is read back whole, now and after reopening', async () => {
      const fields = fc.record({ name: anyText, deviceIds: ids, gatewayIds: ids }, { requiredKeys: ['deviceIds', 'gatewayIds'] }); // biome-ignore format: short
      const made: Project[] = [];
      const property = fc.asyncProperty(anyText, fields, async (text, own) => {
        const draft = { ...own, id: records.name(text) };
        await opened.stores.projects.create(draft, owner.key);
        const project = found(await opened.stores.projects.find(draft.id));
        const who = { ownerKey: owner.key, owner: owner.username, visibility: 'private' };
        assert.deepEqual(project, { kind: 'project', key: project.key, ...who, ...draft });
        made.push(project);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      const listed = await opened.stores.projects.list({ audience: everybody, after: 0, limit: many, offset: 0 });
      assert.deepEqual(listed, made);
    });

    test('an id that is taken is refused, and so is a project of nobody', async () => {
      const { id } = await records.project(owner);
      const other = await records.user();
      const fields = { deviceIds: [], gatewayIds: [] };
      const changed = await records.changedBy(async () => {
        await assertRefused(opened.stores.projects.create({ id, ...fields }, other.key), 'exists');
        await assertRefused(records.project({ ...other, key: 2 ** 40 }), 'not-found');
      });
      assert.deepEqual(changed, []);
      const asked = Array.from({ length: 20 }, () =>
        opened.stores.projects.create({ id: 'wanted', ...fields }, owner.key),
      );
      assert.equal(await succeeded(asked, 'exists'), 1);
    });

    test('a change sets the fields it names, which may be none, and touches nothing else', async () => {
      let project = await records.project(owner, { name: 'x', deviceIds: ['d'] });
      await records.project(owner);
      const change = fc.record({ name: anyText, deviceIds: ids, gatewayIds: ids }, { requiredKeys: [] });
      const property = fc.asyncProperty(change, async (named) => {
        const changed = await records.changedBy(() => opened.stores.projects.update(project.key, named));
        assert.ok(changed.every((label) => [`project ${project.id}`, `usage of ${owner.username}`].includes(label)));
        const expected = { ...project, ...named };
        project = found(await opened.stores.projects.find(project.id));
        assert.deepEqual(project, expected);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
      assert.deepEqual(await records.changedBy(() => opened.stores.projects.update(project.key, {})), []);
    });

    test('a removed project is gone, and no other; its key is never given again', async () => {
      const project = await records.project(owner);
      const changed = await records.changedBy(() => opened.stores.projects.remove(project.key));
      assert.deepEqual(changed, [`project ${project.id}`, `usage of ${owner.username}`]);
      await opened.reopen();
      assert.equal(await opened.stores.projects.find(project.id), undefined);
      await opened.stores.projects.create(project, owner.key);
      assert.ok(found(await opened.stores.projects.find(project.id)).key > project.key);
    });
  });
}
