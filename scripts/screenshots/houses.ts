// What a server holds when pictures are taken of its dashboard: the readings of examples/motes with a field beside them,
// thousands of devices, or names as long as names may be.
import { type Mote, readMotes } from '../demo/motes.ts';
import type { ServerAddress } from '../demo/options.ts';
import { Rest } from '../demo/rest.ts';
import { connectClients } from './mqtt-clients.ts';

export const houses = {
  nothing: async () => {},
  motes: fillMotes,
  /** What the motes have, and what is wrong with it. */
  alarms: fillAlarms,
  many: fillMany,
  long: fillLong,
} as const;
export type House = keyof typeof houses;

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/** The four motes with their readings ended now, a field of thirty days, a gateway, a project, people, a notification. */
async function fillMotes(address: ServerAddress): Promise<void> {
  const rest = await Rest.signIn(address);
  await rest.post('gateways', { id: 'mast-north', name: 'North mast', location: placeOf(5) });
  await rest.put('gateways/mast-north/health', '{}');
  const motes = readMotes();
  const lastMs = Math.max(...motes.map(({ sensors }) => Date.parse(sensors[0]?.datapoints.at(-1)?.timestamp ?? '')));
  const shiftMs = Date.now() - lastMs;
  for (const [index, mote] of motes.entries()) {
    await rest.createDevice(mote);
    await rest.put(`devices/${mote.id}/location`, JSON.stringify(placeOf(index)));
    await rest.put(`devices/${mote.id}/gateway_id`, JSON.stringify('mast-north'));
    if (index % 2 === 0) await rest.put(`devices/${mote.id}/visibility`, JSON.stringify('public'));
    for (const sensor of mote.sensors) {
      await rest.push(`devices/${mote.id}/sensors/${sensor.id}`, moved(sensor.datapoints, shiftMs), () => {});
    }
  }
  await connectClients(address, 'mast-north');
  await fillPeople(rest);
  await fillField(rest);
  const device_ids = ['field-3', 'mote-1', 'mote-2'];
  const project = { id: 'onion-fields', name: 'Onion fields', device_ids, gateway_ids: ['mast-north'] };
  await rest.post('projects', project);
  for (const [path, scopes] of [
    ['gateways/mast-north', ['gateway:view', 'device:view', 'device-data:view']],
    ['projects/onion-fields', ['project:view', 'project:update', 'device:view']],
  ] as const) {
    await rest.put(`${path}/shares/awa`, JSON.stringify({ scopes, with_devices: true }));
  }
}

/** Behind the motes: values that rules are about, and what people did about some. */
async function fillAlarms(address: ServerAddress): Promise<void> {
  const rest = await Rest.signIn(address);
  const sensors = [
    { id: 'level', name: 'Water level', unit: 'cm' },
    { id: 'battery', name: 'Battery', unit: 'V' },
  ];
  await rest.post('devices', {
    id: 'well-2',
    name: 'School well',
    gateway_id: 'mast-north',
    sensors,
    location: placeOf(2),
  });
  for (const [device, sensor, expression, description, value] of [
    ['well-2', 'battery', 'battery<3.3', 'Change the battery', 3.1],
    ['well-2', 'level', 'level<40', 'The well is low', 32],
    ['field-3', 'TC', 'TC>30', 'Too hot for the seedlings', 31.5],
  ] as const) {
    const action = { usernames: ['awa', 'admin'], channels: ['none'], message: '{device}: {value} {unit}' };
    const condition = { devices: [device], sensors: [sensor], expression };
    await rest.post('notifications', { description, condition, action });
    await rest.post(`devices/${device}/sensors/${sensor}/values`, { value });
  }
  const alarms = (await rest.get('alarms?kind=rule')) as readonly {
    readonly id: string;
    readonly sensor_id?: string;
  }[];
  const low = alarms.find(({ sensor_id: sensor }) => sensor === 'level');
  if (low === undefined) return;
  await rest.put(`alarms/${low.id}/acknowledgement`, JSON.stringify({ note: 'The pump is ordered' }));
  await rest.put(`alarms/${low.id}/assignee`, JSON.stringify({ username: 'admin' }));
}

async function fillPeople(rest: Rest): Promise<void> {
  for (const [username, firstName, lastName] of [
    ['awa', 'Awa', 'Diop'],
    ['moussa', 'Moussa', 'Sarr'],
  ]) {
    await rest.post('users', { username, firstName, lastName, password: 'talking drum' });
  }
  await rest.post('auth/keys', { name: 'Weather station on the roof', devices: ['mote-3'] });
}

/** A field whose values follow the day; its notifications have been sent. */
async function fillField(rest: Rest): Promise<void> {
  const sensors = [
    { id: 'TC', name: 'Soil temperature', unit: '°C' },
    { id: 'RH', name: 'Air humidity', unit: '%' },
    { id: 'SM', name: 'Soil moisture', unit: '%' },
    { id: 'BAT', name: 'Battery', unit: 'V' },
  ];
  const actuators = [
    { id: 'valve', name: 'Main valve', value_type: 'bool', value: true },
    { id: 'flow', name: 'Flow', value_type: 'number', value: 6, meta: { min: 0, max: 10 } },
  ];
  const meta = { crop: 'onion', hectares: 1.5 };
  const record = { ...{ id: 'field-3', name: 'Field 3', domain: 'irrigation', gateway_id: 'mast-north' }, meta };
  await rest.post('devices', { ...record, sensors, actuators, location: placeOf(4), retention_days: 730 });
  await rest.put('devices/field-3/shares/awa', JSON.stringify({ scopes: ['device:view', 'device-data:view'] }));
  for (const [description, expression, message] of [
    ['Field 3 is too warm', 'TC>24', 'The soil of field 3 has {TC} °C.'],
    ['The soil is dry', 'SM<18', 'Open the valve: the soil has {SM} % of water.'],
  ] as const) {
    await rest.post('notifications', {
      ...{ description, throttling: 3_600 },
      condition: { devices: ['field-3'], sensors: [expression.slice(0, 2)], expression },
      action: { usernames: ['awa', 'admin'], channels: ['none'], message },
    });
  }
  const { floor, sin, PI } = Math;
  const endMs = floor(Date.now() / minuteMs) * minuteMs;
  const courses: Readonly<Record<string, (day: number, n: number) => number>> = {
    TC: (day, n) => 21 + 5 * sin((day - 0.4) * 2 * PI) + sin(day * 0.7) + 0.2 * sin(n),
    RH: (day, n) => 55 - 18 * sin((day - 0.4) * 2 * PI) + 3 * sin(day * 1.3) + 0.6 * sin(n * 1.7),
    SM: (day, n) => 30 - 11 * ((day / 3) % 1) + 0.15 * sin(n * 2.1),
    BAT: (day, n) => 3.9 + 0.15 * sin((day - 0.45) * 2 * PI) - n * 0.00002,
  };
  await fillYear(rest, endMs);
  for (const [sensor, course] of Object.entries(courses)) {
    const datapoints = Array.from({ length: 30 * 144 }, (_, n) => {
      const atMs = endMs - (30 * 144 - 1 - n) * 10 * minuteMs;
      return { value: Number(course(atMs / dayMs, n).toFixed(2)), timestamp: new Date(atMs).toISOString() };
    });
    await rest.push(`devices/field-3/sensors/${sensor}`, datapoints, () => {});
  }
}

/** Rain, and a temperature of a year with a fortnight in which nothing was heard. */
async function fillYear(rest: Rest, endMs: number): Promise<void> {
  const { sin, PI } = Math;
  const hours = Array.from({ length: 365 * 24 }, (_, n) => ({ n, atMs: endMs - n * 60 * minuteMs })).reverse();
  const isSilent = (n: number) => n > 120 * 24 && n < 134 * 24;
  const warmth = hours
    .filter(({ n }) => !isSilent(n))
    .map(({ n, atMs }) => {
      const value =
        24 + 4 * sin((atMs / dayMs / 365) * 2 * PI) + 6 * sin((atMs / dayMs - 0.4) * 2 * PI) + sin(n * 0.05);
      return { value: Number(value.toFixed(1)), timestamp: new Date(atMs).toISOString() };
    });
  const rain = hours.map(({ n, atMs }) => {
    const isWet = sin(n / 61) + sin(n / 23) > 1.2;
    return { value: isWet ? Number((0.2 * (1 + (n % 7))).toFixed(1)) : 0, timestamp: new Date(atMs).toISOString() };
  });
  await rest.post('devices/field-3/sensors', { id: 'AIR', name: 'Air temperature', unit: '°C' });
  await rest.post('devices/field-3/sensors', {
    id: 'RAIN',
    name: 'Rain',
    unit: 'mm',
    sensor_kind: 'PrecipitationSensor',
  });
  await rest.push('devices/field-3/sensors/AIR', warmth, () => {});
  await rest.push('devices/field-3/sensors/RAIN', rain, () => {});
}

const manyDevices = 4_000;
const atOnce = 32;

/** Some late, some silent, some never heard. */
async function fillMany(address: ServerAddress): Promise<void> {
  const rest = await Rest.signIn(address);
  const now = Date.now();
  const numbers = Array.from({ length: manyDevices }, (_, n) => n);
  for (let from = 0; from < manyDevices; from += atOnce) {
    await Promise.all(numbers.slice(from, from + atOnce).map((n) => addOne(rest, n)));
  }
  // Twelve hours of half-hour values, but for each fortieth device, and an hour ago for some.
  for (let step = 24; step >= 0; step -= 1) {
    const heard = numbers.filter((n) => n % 40 !== 0 && (step > 2 || n % 11 !== 0) && (step > 12 || n % 23 !== 0));
    for (let from = 0; from < heard.length; from += 2_000) {
      const lines = heard.slice(from, from + 2_000).map((n) => {
        const value = Number((22 + 5 * Math.sin((n + step) / 6)).toFixed(1));
        const timestamp = new Date(now - step * 30 * minuteMs).toISOString();
        return { device_id: `station-${n}`, sensor_id: 'TC', value, timestamp };
      });
      await rest.post('datapoints', lines);
    }
  }
}

async function addOne(rest: Rest, n: number): Promise<void> {
  const sensors = [{ id: 'TC', name: 'Temperature', unit: '°C' }];
  // Around some towns, by the golden angle.
  const [radius, angle] = [0.05 * Math.sqrt(n % 500), n * 2.399_963];
  const [town, east] = [Math.floor(n / 500) % 4, Math.floor(n / 2_000)];
  const latitude = 13 + town * 1.6 + radius * Math.sin(angle);
  const location = { latitude, longitude: -16.5 + east * 4 + town * 0.8 + radius * Math.cos(angle) };
  const gateway_id = `mast-${n % 12}`;
  await rest.post('devices', { id: `station-${n}`, name: `Station ${n}`, sensors, location, gateway_id });
}

/** Every name 200 characters without a space. */
async function fillLong(address: ServerAddress): Promise<void> {
  const rest = await Rest.signIn(address);
  const long = (start: string) => `${start}-`.repeat(200).slice(0, 200);
  const id = long('field');
  const sensors = ['TC', long('sensor')].map((sensor) => ({ id: sensor, name: long('Temperature'), unit: '°C' }));
  const actuators = [{ id: long('valve'), name: long('Valve'), value_type: 'string', value: long('open') }];
  const names = { id, name: long('Field'), domain: long('domain'), gateway_id: long('mast') };
  await rest.post('devices', {
    ...names,
    sensors,
    actuators,
    location: placeOf(0),
    meta: { [long('note')]: long('x') },
  });
  for (const { id: sensor } of sensors) {
    const datapoints = Array.from({ length: 100 }, (_, n) => {
      const value = 20 + 3 * Math.sin(n / 8);
      return { value, timestamp: new Date(Date.now() - n * 10 * minuteMs).toISOString() };
    });
    await rest.push(`devices/${id}/sensors/${encodeURIComponent(sensor)}`, datapoints, () => {});
  }
  await rest.post('gateways', { id: long('mast'), name: long('Mast') });
  await connectClients(address, long('mast'));
  await rest.post('projects', { name: long('Project'), device_ids: [id], gateway_ids: [long('mast')] });
  await rest.post('users', { username: long('user').slice(0, 60), firstName: long('First'), password: 'talking drum' });
  await rest.post('auth/keys', { name: long('Key').slice(0, 128) });
  await rest.post('notifications', {
    description: long('Frost'),
    condition: { devices: [id], sensors: [long('sensor')], expression: 'TC<2' },
    action: { usernames: ['admin'], channels: ['none'], message: long('Message') },
  });
}

function placeOf(index: number): object {
  return { latitude: 16.03 + index * 0.004, longitude: -16.49 + (index % 2) * 0.007 };
}

function moved(datapoints: Mote['sensors'][number]['datapoints'], shiftMs: number) {
  return datapoints.map(({ value, timestamp }) => {
    return { value, timestamp: new Date(Date.parse(timestamp) + shiftMs).toISOString() };
  });
}
