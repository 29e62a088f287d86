// CSV for spreadsheets: on request no cell can be taken for a formula, on every path that returns CSV.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const formulas = ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', '\r=1', '=cmd|"/c calc"!A1', '＝1'];
const harmless = ['text', '-5', '+5.5e3', '1-1', ' =1', '', 'a=b'];

before(async () => {
  server = await TestServer.start();
  const sensors = [{ id: '-s' }];
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: '@d', sensors }, expect: 204 });
  const values = [...formulas, ...harmless, -5, -1e-7, true, null, { '=a': 1 }];
  await makeAll(
    server,
    values.map((value, n) => ({
      ...{ as: 'owner', call: 'POST /devices/@d/sensors/-s/values', expect: 204 },
      json: { value, timestamp: new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString() },
    })),
  );
});
after(() => server.stop());

const csv = async (path: string) => (await make(server, { as: 'owner', call: `GET ${path}`, expect: 200 })).text;
const doors = [
  '/devices/@d/sensors/-s/values?format=csv',
  '/sensors_data?device_id=@d&sensor_id=-s&format=csv',
  '/devices/@d/sensors/-s/values?format=csv&bucket=1m&aggregate=first,last',
];

for (const door of doors) {
  test(`${door} is as it is stored unless csv=spreadsheet asks for harmless cells`, async () => {
    const [plain, safe] = [await csv(door), await csv(`${door}&csv=spreadsheet`)];
    assert.match(plain, /[,"]=1\+1/);
    for (const formula of formulas) assert.ok(safe.includes(`'${formula.replaceAll('"', '""')}`), formula);
    // No cell begins as a formula does, unless it is a number.
    const cells = safe
      .replace(/""/g, '')
      .split(/\r\n|,/)
      .map((cell) => cell.replace(/^"/, ''));
    for (const cell of cells) assert.doesNotMatch(cell, /^(?![+-]?\d+(\.\d+)?(e[+-]?\d+)?"?$)[=+\-@\t\r]/);
    for (const text of harmless) assert.equal(safe.includes(`'${text}`), text === '', text);
    assert.match(safe, /,-5(,|\r\n)/);
  });
}

test('another word for csv is refused', async () => {
  await make(server, { as: 'owner', call: 'GET /devices/@d/sensors/-s/values?format=csv&csv=excel', expect: 400 });
});
