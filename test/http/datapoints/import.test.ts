// Reading files of loggers (contract 10): how they are interpreted, what is refused, and what the answer reports.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';

before(async () => {
  server = await TestServer.start();
  const sensors = [{ id: 'TC', name: 'Temperature', unit: '°C' }, { id: 'RH' }];
  for (const id of ['d', 'e']) await server.call(as, 'POST', '/devices', { json: { id, sensors } });
});
after(() => server.stop());

type Query = Readonly<Record<string, string>>;

/** What an import of this text would do. */
async function look(text: string | Uint8Array, query: Query = {}, type = 'text/csv') {
  const search = new URLSearchParams({ device: 'd', dry_run: 'true', ...query });
  const { body } = await make(server, {
    as,
    call: `POST /import?${search}`,
    body: text,
    headers: { 'content-type': type },
    expect: 200,
  });
  return body;
}

test('a parameter that is not known is refused, for what was meant by it would be left out', async () => {
  const { body } = await make(server, {
    as,
    call: 'POST /import?device=d&dry_run=true&timezome=Europe/Paris',
    body: 'time,TC\n2024-06-05T10:00:00,1\n',
    headers: { 'content-type': 'text/csv' },
    expect: 400,
  });
  assert.equal(body.detail, '/timezome is not known here.');
  assert.equal(body.errors[0].pointer, '/timezome');
});

/** The samples, short: sensor, time, value. */
async function points(text: string | Uint8Array, query: Query = {}, type?: string): Promise<unknown[][]> {
  const { samples, problems, refused } = await look(text, query, type);
  assert.deepEqual([problems, refused], [[], []]);
  return samples.map((s: Record<string, unknown>) => [
    `${s['device_id']}/${s['sensor_id']}`,
    s['timestamp'],
    s['value'],
  ]);
}

const t0 = '2024-06-05T10:00:00Z';
const t1 = '2024-06-05T10:10:00Z';
const wide = [
  ['d/TC', t0, 21.5],
  ['d/RH', t0, 40],
  ['d/TC', t1, -1.25],
];
const long = [
  ['d/TC', t0, 21.5],
  ['e/RH', t1, 40],
];

suite('a file is understood as it is', () => {
  const files: Readonly<Record<string, readonly [text: string, expected: readonly unknown[][], query?: Query]>> = {
    'wide, with commas': [`time,TC,RH\n${t0},21.5,40\n${t1},-1.25,\n`, wide],
    'with a byte order mark, CRLF and quotes': [`\uFEFF"time","TC","RH"\r\n"${t0}","21.5","40"\r\n"${t1}","-1.25",""\r\n`, wide],
    'with semicolons and decimal commas': [`Zeit;TC;RH\n05.06.2024 10:00;21,5;40\n05.06.2024 10:10;-1,25;\n`, wide],
    'with decimal commas in quotes': [`time,TC,RH\n${t0},"21,5",40\n${t1},"-1,25",\n`, wide],
    'with tabs': [`time\tTC\tRH\n${t0}\t21.5\t40\n${t1}\t-1.25\t\n`, wide],
    'with bars': [`time|TC|RH\n${t0}|21.5|40\n${t1}|-1.25|\n`, wide],
    'with names and units of sensors': [`Timestamp,Temperature (°C),rh [%]\n${t0},21.5,40\n${t1},-1.25,NaN\n`, wide],
    'with other columns, once one is mapped': [
      `Record,time,A,B,C\n1,${t0},21.5,40,x\n2,${t1},-1.25,NA,y\n`,
      wide,
      { columns: 'A=TC;B=RH' },
    ],
    'with lines before the header': [`"Logger 7"\nSerial: 12\ntime,TC,RH\n${t0},21.5,40\n${t1},-1.25,\n`, wide],
    'with date and time apart': [`Date,Time,TC,RH\n2024-06-05,10:00,21.5,40\n2024-06-05,10:10,-1.25,-\n`, wide],
    'without a header': [`${t0},21.5,40\n${t1},-1.25,\n`, wide, { columns: '1=timestamp;2=TC;3=RH' }],
    'without its last line break': [`time,TC,RH\n${t0},21.5,40\n${t1},-1.25`, wide],
    'in seconds since 1970': ['ts,TC,RH\n1717581600,21.5,40\n1717582200,-1.25,\n', wide],
    'in milliseconds since 1970': ['ts,TC,RH\n1717581600000,21.5,40\n1717582200000,-1.25,\n', wide],
    'with offsets': ['time,TC,RH\n2024-06-05T12:00:00+02:00,21.5,40\n2024-06-05 12:10:00+0200,-1.25,\n', wide],
    'by the clocks of a zone': ['time,TC,RH\n2024-06-05 12:00,21.5,40\n2024-06-05 12:10,-1.25,\n', wide, { timezone: 'Europe/Paris' }],
    'day first': ['time,TC,RH\n05/06/2024 10:00,21.5,40\n05/06/2024 10:10,-1.25,\n', wide],
    'month first where it is said': ['time,TC,RH\n06/05/2024 10:00 AM,21.5,40\n06/05/2024 10:10 AM,-1.25,\n', wide, { time_format: 'M/D/YYYY h:mm A' }],
    'with names of months': ['time,TC,RH\n5-Jun-2024 10:00:00,21.5,40\n5-Jun-2024 10:10:00,-1.25,\n', wide],
    'long': [`device_id,sensor_id,timestamp,value\nd,TC,${t0},21.5\ne,RH,${t1},40\n`, long],
    'long, in another order, with other columns': [`value,note,sensor,unit,device,time\n21.5,?,TC,K,d,${t0}\n40,?,RH,%,e,${t1}\n`, long],
    'of two devices, wide': [`time,TC,other\n${t0},21.5,\n${t1},,40\n`, long, { columns: 'other=e/RH;TC=TC' }],
    'of one sensor': [`time,value\n${t0},21.5\n`, [['d/TC', t0, 21.5]], { sensor: 'TC' }],
  }; // biome-ignore format: a table
  for (const [name, [text, expected, query]] of Object.entries(files)) {
    test(name, async () => {
      assert.deepEqual(await points(text, query), expected);
    });
  }

  test('a month beyond twelve says which comes first', async () => {
    const { file, notes } = await look('time,TC\n06/05/2024,1\n06/15/2024,2\n', { timezone: 'Africa/Dakar' });
    assert.match(file.time_format, /^M\/D\/YYYY/);
    assert.deepEqual(notes, []);
    const doubtful = await look('time,TC\n06/05/2024,1\n');
    assert.match(doubtful.file.time_format, /^D\/M\/YYYY/);
    assert.match(doubtful.notes.join(), /day first/);
  });

  test('in another charset, where it is named; and refused, with advice, where it is not', async () => {
    const latin = Buffer.from(`time;Temperature (°C)\n${t0};21,5\n`, 'latin1');
    assert.deepEqual(await points(latin, {}, 'text/csv; charset=windows-1252'), [['d/TC', t0, 21.5]]);
    const utf16 = Buffer.from(`\uFEFFtime\tTC\r\n${t0}\t21.5\r\n`, 'utf16le');
    assert.deepEqual(await points(utf16, {}, 'text/csv; charset=utf-16le'), [['d/TC', t0, 21.5]]);
    const call = 'POST /import?device=d';
    const refused = await make(server, { as, call, body: latin, headers: { 'content-type': 'text/csv' }, expect: 400 });
    assert.match(refused.body.detail, /not in UTF-8.*windows-1252/);
    await make(server, { as, call, body: 'a', headers: { 'content-type': 'text/csv; charset=klingon' }, expect: 415 });
    await make(server, { as, call, body: '<a/>', headers: { 'content-type': 'application/xml' }, expect: 415 });
    await make(server, { as, call, expect: 400 });
  });
});

suite('NDJSON and JSON', () => {
  const items = [
    { device_id: 'd', sensor_id: 'TC', timestamp: t0, value: 21.5 },
    { device_id: 'e', sensor_id: 'RH', timestamp: t1, value: 40 },
  ];
  const lines = (list: readonly unknown[]) => list.map((item) => `${JSON.stringify(item)}\n`).join('');

  test('are read by their keys, long and wide', async () => {
    assert.deepEqual(await points(lines(items), {}, 'application/x-ndjson'), long);
    assert.deepEqual(await points(JSON.stringify(items), {}, 'application/json'), long);
    const wideItems = [
      { time: t0, TC: 21.5, RH: 40 },
      { time: Date.parse(t1), TC: -1.25, RH: null },
    ];
    const { refused } = await look(lines(wideItems), {}, 'application/x-ndjson');
    assert.match(refused[0].detail, /"1717582200000" is no time as iso/);
    const epoch = [
      { time: Date.parse(t0), TC: 21.5, RH: 40 },
      { time: Date.parse(t1), TC: -1.25 },
    ];
    assert.deepEqual(await points(lines(epoch), {}, 'application/x-ndjson'), wide);
  });

  test('keep values as they are, null and texts that look like numbers among them', async () => {
    const values = [null, '42', '', 'NaN', true, { a: [1] }, [], -0.5];
    const list = values.map((value) => ({ sensor_id: 'TC', timestamp: t0, value }));
    const { samples } = await look(lines(list), {}, 'application/x-ndjson');
    assert.deepEqual(samples.map(({ value }: { value: unknown }) => value), values); // biome-ignore format: one line
  });

  test('tell a line that is none', async () => {
    const { refused, accepted } = await look(`7\n\n{"a"\n${lines(items)}[]\n`, {}, 'application/x-ndjson');
    assert.equal(accepted, 2);
    assert.deepEqual(refused.map(({ line }: { line: number }) => line), [1, 3, 6]); // biome-ignore format: one line
  });

  test('take a key that comes late', async () => {
    const list = [...Array.from({ length: 300 }, (_, n) => ({ time: new Date(n).toISOString(), TC: n })), { time: t0, TC: 1, RH: 2 }]; // biome-ignore format: one line
    const { accepted, file } = await look(lines(list), {}, 'application/x-ndjson');
    assert.equal(accepted, 302);
    assert.deepEqual(file.columns.map(({ role }: { role: string }) => role), ['timestamp', '/TC', '/RH']); // biome-ignore format: one line
  });
});

suite('a value', () => {
  const rows: readonly (readonly [field: string, value: unknown, query?: Query])[] = [
    ['21.5', 21.5],
    ['+21.5', 21.5],
    ['-.5', -0.5],
    ['1e3', 1000],
    [' 7 ', 7],
    ['007', 7],
    ['TRUE', true],
    ['null', null],
    ['open', 'open'],
    ['"""42"""', '42'],
    ['"{""a"":[1]}"', { a: [1] }],
    ['', undefined],
    ['NaN', undefined],
    ['n/a', undefined],
    ['--', undefined],
    ['-999', -999],
    ['-999', undefined, { missing: '-999,err' }],
    ['ERR', undefined, { missing: '-999,err' }],
    ['NaN', 'NaN', { missing: '' }],
    ['42', '42', { values: 'text' }],
    ['"1.234,5"', 1234.5, { decimal: 'comma' }],
    ['"1,5"', 1.5, { decimal: 'comma' }],
    ['1.5', '1.5', { decimal: 'comma', values: 'text' }],
  ];
  for (const [field, value, query] of rows) {
    test(`${field || 'nothing'}${query === undefined ? '' : ` with ${JSON.stringify(query)}`} is ${JSON.stringify(value)}`, async () => {
      const { samples, missing, refused } = await look(`time,TC\n${t0},${field}\n`, query);
      assert.deepEqual([samples[0]?.value, missing, refused], [value, value === undefined ? 1 : 0, []]);
    });
  }

  test('that is none is refused by its column, and the others of the line are taken', async () => {
    const { refused, accepted } = await look(`time,TC,RH\n${t0},open,1\n${t0},1e999,2\n`, { values: 'number' });
    assert.equal(accepted, 2);
    assert.deepEqual(refused, [
      { line: 2, column: 2, detail: '"open" is no number.', code: 'no-number', params: { text: 'open' } },
      {
        line: 3,
        column: 2,
        detail: '"1e999" is too large for a number.',
        code: 'number-large',
        params: { text: '1e999' },
      },
    ]);
  });
});

suite('on days when clocks change', () => {
  const zone = { timezone: 'Europe/Paris' };
  const times = (text: string, query: Query = zone) => look(text, query).then(({ samples }) => samples.map((s: { timestamp: string }) => s.timestamp)); // biome-ignore format: one line

  test('a time that was skipped is refused', async () => {
    const { refused } = await look('time,TC\n2024-03-31 01:59,1\n2024-03-31 02:00,2\n2024-03-31 03:00,3\n', zone);
    const detail = 'Clocks in Europe/Paris never showed 2024-03-31 02:00:00: they went ahead then.';
    const params = { zone: 'Europe/Paris', time: '2024-03-31 02:00:00' };
    assert.deepEqual(refused, [{ line: 3, detail, code: 'clock-skipped', params }]);
  });

  test('an hour that was shown twice is read twice', async () => {
    const hours = ['01:30', '02:00', '02:30', '02:00', '02:30', '03:00'];
    const text = `time,TC\n${hours.map((hour) => `2024-10-27 ${hour},1\n`).join('')}`;
    const expected = ['2024-10-26T23:30:00Z', ...['00:00', '00:30', '01:00', '01:30', '02:00'].map((t) => `2024-10-27T${t}:00Z`)]; // biome-ignore format: one line
    assert.deepEqual(await times(text), expected);
  });

  test('the same for each sensor of a long file, and across parts', async () => {
    const text = `time,sensor,value\n${['02:00', '02:00'].flatMap((t) => ['TC', 'RH'].map((s) => `2024-10-27 ${t},${s},1\n`)).join('')}`; // biome-ignore format: one line
    const [first, second] = ['2024-10-27T00:00:00Z', '2024-10-27T01:00:00Z'];
    assert.deepEqual(await times(text), [first, first, second, second]);
    assert.deepEqual(await times('time,TC\n2024-10-27 02:00,1\n', { ...zone, after: first }), [second]);
  });

  test('a day has its 23 or 25 hours', async () => {
    for (const [day, hours] of [['2024-03-31', 23], ['2024-10-27', 25], ['2024-06-01', 24]] as const) {
      const { from, to } = await look(`time,TC\n${day} 00:00,1\n${day} 23:00,2\n`, zone);
      assert.equal((Date.parse(to) - Date.parse(from)) / 3_600_000, hours - 1);
    } // biome-ignore format: a table
  });
});

suite('what is not said and cannot be found out', () => {
  const rows: readonly (readonly [name: string, text: string, problem: RegExp, query?: Query])[] = [
    ['the time', 'TC,RH\n1,2\n', /No column is the time/],
    ['how times are written', 'time,TC\n13h05,1\n', /recognised: "13h05".*time_format/],
    ['the values', `time\n${t0}\n`, /No column holds values/],
    ['columns without names', `${t0},1\n`, /No column is the time.*No column holds values/],
    ['the sensor', `time,value\n${t0},1\n`, /which sensor/],
    ['the device', `time,TC\n${t0},1\n`, /which device/, { device: '' }],
  ];
  for (const [name, text, problem, { device = 'd', ...query } = {}] of rows) {
    test(`is asked for: ${name}`, async () => {
      const search = new URLSearchParams({ ...(device === '' ? {} : { device }), ...query });
      const carries = { body: text, headers: { 'content-type': 'text/csv' } };
      const dry = await make(server, { as, call: `POST /import?${search}&dry_run=true`, ...carries, expect: 200 });
      assert.match(dry.body.problems.join(' '), problem);
      const { body } = await make(server, { as, call: `POST /import?${search}`, ...carries, expect: 400 });
      assert.match(body.detail, problem);
    });
  }
});

test('cells and headers that were made to take long are read as soon as any', async () => {
  const digits = '1'.repeat(200_000);
  const texts = [`time,TC\n${t0},${digits}x\n`, `time,TC${'('.repeat(60_000)}\n${t0},1\n`];
  for (const text of texts) {
    const startMs = performance.now();
    await look(text, { skip: '0' });
    // Each took minutes: a number was looked for from each digit, a unit from each bracket.
    assert.ok(performance.now() - startMs < 5_000);
  }
  const lines = Array.from({ length: 1_990 }, (_, n) => JSON.stringify({ time: t0, [`key${n}`]: 1 })).join('\n');
  const startMs = performance.now();
  assert.equal((await look(lines, {}, 'application/x-ndjson')).lines, 1_990);
  assert.ok(performance.now() - startMs < 20_000);
});

test('what is said wrongly is 400 and names its place', async () => {
  for (const [query, pointer] of [
    ['timezone=Mars/Olympus', '/timezone'],
    ['time_format=noon', '/time_format'],
    ['time_format=[YYYY-MM-DD', '/time_format'],
    [`time_format=${'D'.repeat(100)}`, '/time_format'],
    // Each of these once took for ever, or could be read in several ways.
    [`time_format=YYYYMD${'SSS'.repeat(19)}`, '/time_format'],
    ['time_format=YYYYMD', '/time_format'],
    ['time_format=YYYY-M[-]D', '/time_format'],
    ['time_format=YYYY-MM-DD[%20HH][%20HH]', '/time_format'],
    [`time_format=YYYY-MM-DD${'[%20]'.repeat(15)}`, '/time_format'],
    ['columns=TC', '/columns'],
    ['columns=none=TC', '/columns'],
    ['columns=TC=a%20b', '/columns'],
    ['delimiter=x', '/delimiter'],
    ['after=x', '/after'],
    ['device=a%20b', '/device'],
    ['lines=0', '/lines'],
  ]) {
    const { body } = await make(server, {
      as,
      call: `POST /import?device=d&dry_run=true&${query}`,
      body: `time,TC\n${t0},1\n`,
      headers: { 'content-type': 'text/csv' },
      expect: 400,
    });
    assert.equal(body.errors[0].pointer, pointer, query);
  }
});

suite('a preview', () => {
  test('reads the first lines alone and shows what they are taken for', async () => {
    const lines = Array.from({ length: 100 }, (_, n) => `05.06.2024 10:${String(n % 60).padStart(2, '0')};${n},5;;x\n`);
    const text = `Datum;TC;Wind (m/s);Bemerkung\n${lines.join('')}05.06.2024 10:`;
    const { file, lines: read, samples, notes, from, to, next } = await look(text, { lines: '50' });
    assert.equal(read, 50);
    assert.equal(samples.length, 20);
    assert.deepEqual(samples[0], { line: 2, device_id: 'd', sensor_id: 'TC', value: 0.5, timestamp: t0 });
    assert.deepEqual([from, to], [t0, '2024-06-05T10:49:00Z']);
    const { columns, ...form } = file;
    assert.deepEqual(form, {
      ...{ format: 'csv', delimiter: 'semicolon', decimal: 'comma', header: true, skip: 0, timezone: 'UTC' },
      time_format: 'D.M.YYYY[ H:mm[:ss[.SSS]]]',
    });
    assert.deepEqual(columns[2], {
      ...{ column: 3, name: 'Wind (m/s)', unit: 'm/s', role: '/Wind', numbers: 0, others: 0, missing: 50 },
      examples: ['', '', ''],
    });
    assert.match(notes.join(' '), /read as UTC.*no sensor Wind, Bemerkung: create_sensors/);
    assert.deepEqual([next.line, next.head_lines], [52, 1]);
  });

  for (const [head, line] of [
    ['Date/Heure;TC', '05/06/2024 10:00;1,5'],
    ['Date et heure;TC', '05/06/2024 10:00;1,5'],
    ['Date;Heure;TC', '05/06/2024;10:00;1,5'],
    ['Fecha;TC', '05/06/2024 10:00;1,5'],
    ['Fecha/Hora;TC', '05/06/2024 10:00;1,5'],
    ['Fecha y hora;TC', '05/06/2024 10:00;1,5'],
    ['Data e hora;TC', '05/06/2024 10:00;1,5'],
    ['Data/ora;TC', '05/06/2024 10:00;1,5'],
    ['Datum und Uhrzeit;TC', '05.06.2024 10:00;1,5'],
    ['Datum;Uhrzeit;TC', '05.06.2024;10:00;1,5'],
    ['Datum en tijd;TC', '05-06-2024 10:00;1,5'],
    ['Horodateur (UTC);TC', '2024-06-05 10:00;1,5'],
  ] as const) {
    test(`finds the times under ${head.split(';').slice(0, -1).join(' and ')}, behind lines that tell of the logger`, async () => {
      const lines = [line, line.replace('10:00', '10:01'), line.replace('10:00', '10:02')];
      const text = `Station : Puits nord\nLogger;7;\n${head}\n${lines.join('\n')}\n`;
      const { file, samples, from } = await look(text);
      assert.equal(file.skip, 2);
      assert.equal(from, t0);
      assert.deepEqual(samples[0], { line: 4, device_id: 'd', sensor_id: 'TC', value: 1.5, timestamp: t0 });
    });
  }

  test('of what is broken says so line by line, and of very many lines the first', async () => {
    const { refused, refused_count } = await look(`time,TC\n${t0},1\n${t0},1,2\n"x,1\n${t0},2\n`);
    assert.equal(refused_count, 2);
    assert.deepEqual(refused.map(({ line }: { line: number }) => line), [3, 4]); // biome-ignore format: one line
    const many = await look(`time,TC\n${t0},1\n${'x,1\n'.repeat(250)}`, { time_format: 'iso' });
    assert.deepEqual([many.refused.length, many.refused_count, many.accepted], [100, 250, 1]);
  });

  test('goes on behind a line that is too long', async () => {
    const { refused, accepted } = await look(`time,TC\n${t0},1\n${t0},"${'x'.repeat(300_000)}\n${t0},2\n${t0},3\n`);
    assert.deepEqual([accepted, refused.length, refused[0].line], [3, 1, 3]);
    assert.match(refused[0].detail, /longer than 262144 characters/);
  });
});

test('keys longer than any name are refused with their line, so that columns take a bounded memory', async () => {
  const item = { device_id: 'd', sensor_id: 'TC', timestamp: t0, value: 1 };
  const longKeys = Array.from({ length: 3 }, (_, n) => ({ ...item, [`${n}${'x'.repeat(200_000)}`]: 1 }));
  const text = [item, ...longKeys, item].map((one) => JSON.stringify(one)).join('\n');
  const { refused, lines } = await look(text, {}, 'application/x-ndjson');
  assert.equal(lines, 5);
  assert.deepEqual(
    refused.map(({ line, detail }: { line: number; detail: string }) => `${line}: ${detail}`),
    [2, 3, 4].map((line) => `${line}: The line has a key of more than 1024 characters.`),
  );
});
