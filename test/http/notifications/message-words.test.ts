// What the messages of rules can say beside values of sensors: the device, the value, its unit, when, and a link; and what
// webhooks carry of it for programs. Sensors of such names come first, as they did before.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { Provider } from '../../support/peers/provider.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let provider: Provider;

before(async () => {
  provider = await Provider.start();
  const settings = { DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1', DUNDUN_BASE_URL: 'https://fields.example' };
  server = await TestServer.start(settings);
  const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'RH' }];
  for (const json of [
    { id: 'field-3', name: 'Field 3', sensors },
    { id: 'odd', sensors: [{ id: 'TC' }, { id: 'value' }, { id: 'unit' }] },
  ])
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const { body: me } = await make(server, { as: 'owner', call: 'GET /users/me', expect: 200 });
  const json = { webhook: [`${provider.url}/hook`] };
  await make(server, { as: 'owner', call: `PUT /users/${me.id}`, json, expect: 204 });
});
after(async () => {
  await server.stop();
  await provider.stop();
});

const every = `{device} ({device_id}): {sensor} {id} {value} {unit} $\{TC} {time} {link} {nothing} {constructor}`;

async function addRule(device: string, action: object, more: object = {}): Promise<string> {
  const condition = { devices: [device], sensors: ['TC'], expression: 'TC<40' };
  const json = { condition, action: { usernames: ['owner'], channels: ['none'], ...action }, ...more };
  return (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
}

async function push(device: string, value: unknown, sensor = 'TC'): Promise<void> {
  const call = `POST /devices/${device}/sensors/${sensor}/values`;
  await make(server, { as: 'owner', call, json: { value }, expect: 204 });
  await server.running.idle();
}

const newest = async () =>
  (await make(server, { as: 'owner', call: 'GET /socials?limit=1', expect: 200 })).body[0].message as string;
const now = () => new Date(server.clock.now()).toISOString().replace('.000', '');
const link = 'https://fields.example/devices/field-3/sensors/TC';

test('a message names the device, the sensor, the value with its unit, the time and a link', async () => {
  const rule = await addRule('field-3', { message: every });
  await push('field-3', 21.5);
  assert.equal(await newest(), `Field 3 (field-3): Soil TC 21.5 °C 21.5 ${now()} ${link} {nothing} {constructor}`);
  await make(server, { as: 'owner', call: `DELETE /notifications/${rule}`, expect: 204 });
});

test('signs that turn the direction of text are in no message, whoever put them there', async () => {
  const sensors = [{ id: 'TC', name: 'S\u202eoil', unit: '\u2067m' }];
  const json = { id: 'turned', name: 'Field\u202e 3\u2066', sensors };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const message = 'N\u202dow {device}: {sensor} {value} {unit}\u202e!';
  const rule = await addRule('turned', { message });
  await push('turned', 21.5);
  assert.equal(await newest(), 'Now Field 3: Soil 21.5 m!');
  await make(server, { as: 'owner', call: `DELETE /notifications/${rule}`, expect: 204 });
  const said = { username: 'owner', channel: 'none', message: 'fro\u202em a person' };
  await make(server, { as: 'owner', call: 'POST /socials', json: said, expect: 200 });
  assert.equal(await newest(), 'from a person');
  // Marks of direction that reach no further than themselves, and letters of any direction, stay.
  await make(server, { as: 'owner', call: 'POST /socials', json: { ...said, message: 'حقل\u200f 3' }, expect: 200 });
  assert.equal(await newest(), 'حقل\u200f 3');
});

test('a sensor that is called as a word is meant before the word, also before it has a value', async () => {
  const rule = await addRule('odd', { message: '{device} {value} {unit}' });
  await push('odd', 5);
  assert.equal(await newest(), 'odd {value} {unit}');
  await push('odd', 7, 'value');
  await push('odd', 6);
  assert.equal(await newest(), 'odd 7 {unit}');
  await make(server, { as: 'owner', call: `DELETE /notifications/${rule}`, expect: 204 });
});

test('a dry run says the same words', async () => {
  await push('field-3', 60);
  await push('field-3', 12);
  const json = {
    condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC==12' },
    action: { usernames: ['owner'], channels: ['none'], message: '{device}: {value} {unit}, {link}' },
  };
  const { body } = await make(server, { as: 'owner', call: 'POST /notifications/test', json, expect: 200 });
  assert.deepEqual(
    body.firings.map(({ message }: { readonly message: string }) => message),
    [`Field 3: 12 °C, ${link}`],
  );
});

test('a webhook gets what it always got, and device, sensor, rule, value and time beside it', async () => {
  provider.reply = { status: 204 };
  const more = { recovery_message: 'well again' };
  const rule = await addRule('field-3', { channels: ['webhook', 'none'], message: 'cold: {TC}' }, more);
  const sent = () => provider.asked.splice(0).map(({ body }) => JSON.parse(body));
  const about = {
    ...{ notification: rule, device_id: 'field-3', device_name: 'Field 3', sensor_id: 'TC', sensor_name: 'Soil' },
    ...{ unit: '°C', timestamp: now(), link },
  };
  await push('field-3', 3);
  await push('field-3', 50);
  const data = { username: 'owner', ...about };
  assert.deepEqual(sent(), [
    { type: 'notification', timestamp: now(), data: { ...data, message: 'cold: 3', event: 'fired', value: 3 } },
    { type: 'notification', timestamp: now(), data: { ...data, message: 'well again', event: 'recovered', value: 50 } },
  ]);
  await make(server, { as: 'owner', call: `DELETE /notifications/${rule}`, expect: 204 });
  const json = { username: 'owner', channel: 'webhook', message: 'By hand.' };
  await make(server, { as: 'owner', call: 'POST /socials', json, expect: 200 });
  await server.running.idle();
  assert.deepEqual(
    sent().map(({ data }) => data),
    [{ username: 'owner', message: 'By hand.' }],
  );
});

test('a value that is too long for a webhook is left out of what is beside the text', async () => {
  provider.reply = { status: 204 };
  const long = 'x'.repeat(limits.occasionValueCharsMax);
  const condition = { devices: ['field-3'], sensors: ['RH'], expression: 'RH!=1' };
  const action = { usernames: ['owner'], channels: ['webhook'], message: '{device}' };
  const json = { condition, action };
  await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 });
  await push('field-3', long, 'RH');
  await push('field-3', 'short', 'RH');
  const values = provider.asked.splice(0).map(({ body }) => JSON.parse(body).data.value);
  assert.deepEqual(values, [undefined, 'short']);
});

test('who may view the values of a device alone is told no names and no unit', async () => {
  provider.reply = { status: 204 };
  const call = 'PUT /devices/field-3/shares/sharer';
  await make(server, { as: 'owner', call, json: { scopes: ['device-data:view'] }, expect: 204 });
  const { body: me } = await make(server, { as: 'sharer', call: 'GET /users/me', expect: 200 });
  const webhook = [`${provider.url}/hook`];
  await make(server, { as: 'sharer', call: `PUT /users/${me.id}`, json: { webhook }, expect: 204 });
  const json = {
    condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC==77' },
    action: { usernames: ['sharer'], channels: ['webhook'], message: '{device}: {sensor} {value} {unit}, {link}' },
  };
  await make(server, { as: 'sharer', call: 'POST /notifications', json, expect: 200 });
  await push('field-3', 77);
  const [sent] = provider.asked.splice(0).map(({ body }) => JSON.parse(body).data);
  assert.equal(sent.message, `field-3: TC 77 , ${link}`);
  assert.deepEqual([sent.device_id, sent.sensor_id, sent.value], ['field-3', 'TC', 77]);
  assert.deepEqual([sent.device_name, sent.sensor_name, sent.unit], [undefined, undefined, undefined]);
  const { body } = await make(server, { as: 'sharer', call: 'POST /notifications/test', json, expect: 200 });
  assert.equal(body.firings[0].message, `field-3: TC 77 , ${link}`);
});
