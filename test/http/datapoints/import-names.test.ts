// What loggers of several languages write: times under their names, in one column or in two, behind lines of the logger; and
// what is said of a file by codes, for clients in other languages.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', sensors: [{ id: 'TC', unit: 'K' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
});
after(() => server.stop());

async function look(text: string, query = 'device=d&create_sensors=true') {
  const call = `POST /import?dry_run=true&${query}`;
  const headers = { 'content-type': 'text/csv' };
  return (await make(server, { as: 'owner', call, body: Buffer.from(text), headers, expect: 200 })).body;
}

test('a sensor that is made has the name of its column without the unit, which it has beside it', async () => {
  const call = 'POST /import?device=d&create_sensors=true';
  const headers = { 'content-type': 'text/csv' };
  const body = Buffer.from('Date;Air (°C);Wind [m/s];(x)\n26 nov. 2025 10:20;21,5;3;1\n');
  await make(server, { as: 'owner', call, body, headers, expect: 200 });
  const { sensors } = (await server.call('owner', 'GET', '/devices/d')).body;
  const made = sensors.filter(({ id }: { readonly id: string }) => id !== 'TC');
  assert.deepEqual(
    made.map(({ name, unit, last_value: last }: Record<string, { readonly timestamp: string }>) => [
      name,
      unit,
      last?.timestamp,
    ]),
    [
      ['Air', '°C', '2025-11-26T10:20:00Z'],
      ['Wind', 'm/s', '2025-11-26T10:20:00Z'],
      ['(x)', undefined, '2025-11-26T10:20:00Z'],
    ],
  );
  for (const { id } of made) await server.call('owner', 'DELETE', `/devices/d/sensors/${encodeURIComponent(id)}`);
});

suite('the time is found', () => {
  const whole = '05.06.2024 10:20';
  for (const [names, cells] of [
    ['Date/Heure', whole],
    ['Date et heure', whole],
    ['Fecha', whole],
    ['Fecha y hora', whole],
    ['Datum', whole],
    ['Data e hora', whole],
    ['Date;Heure', '05.06.2024;10:20'],
    ['Fecha;Hora', '05.06.2024;10:20'],
    ['Datum;Uhrzeit', '05.06.2024;10:20'],
    ['Datum;Zeit', '05.06.2024;10:20'],
    ['Data;Hora', '05.06.2024;10:20'],
    ['Heure;Date', '10:20;05.06.2024'],
  ] as const) {
    test(`under ${names.replace(';', ' and ')}, alone and behind a preamble`, async () => {
      const table = `${names};TC\n${cells};21,5\n${cells.replace('20', '30')};21,7\n`;
      for (const [preamble, skip] of [
        ['', 0],
        ['Logger 4711\nSite: well 3;north\n\n', 3],
      ] as const) {
        const { samples, file, problems } = await look(preamble + table);
        assert.deepEqual(problems, []);
        assert.deepEqual([samples[0].timestamp, samples[0].value], ['2024-06-05T10:20:00Z', 21.5]);
        assert.equal(file.skip, skip);
      }
    });
  }
});

test('problems and notes come as sentences and as codes with what they name, in the same order', async () => {
  const { problems, problem_codes } = await look('when,what\nx,1\ny,2\n', '');
  assert.equal(problem_codes.length, problems.length);
  assert.deepEqual(
    problem_codes.map(({ code }: { readonly code: string }) => code),
    ['no-time-column', 'no-device-named'],
  );
  const { notes, note_codes } = await look('time,TC (°C),RH\n05/06/2024 10:00,1,2\n', 'device=d');
  assert.equal(note_codes.length, notes.length);
  assert.deepEqual(note_codes, [
    { code: 'day-first', params: { format: note_codes[0].params.format } },
    { code: 'utc' },
    { code: 'other-unit', params: { column: 'TC (°C)', sensor: 'TC', unit: 'K' } },
    { code: 'missing-sensors', params: { device: 'd', sensors: 'RH' } },
  ]);
});

test('a refused line has a code and what it names; a device that is not there too, and one that is not yours', async () => {
  const { refused } = await look('time,TC\n2024-06-05,1\nnever,2\n');
  assert.deepEqual(refused[0], {
    ...{ line: 3, detail: `"never" is no time as ${refused[0].params.format}.`, code: 'time-format' },
    params: { text: 'never', format: refused[0].params.format },
  });
  const other = await look('time,TC\n2024-06-05,1\n', 'device=nobody');
  assert.deepEqual(
    other.refused.map(({ code, params }: Record<string, unknown>) => [code, params]),
    [['unknown-device', { device: 'nobody' }]],
  );
  await make(server, {
    as: 'stranger',
    call: 'POST /devices',
    json: { id: 'theirs', sensors: [{ id: 'TC' }] },
    expect: 204,
  });
  const theirs = await look('time,TC\n2024-06-05,1\n', 'device=theirs');
  assert.equal(theirs.refused[0].code, 'forbidden');
});
