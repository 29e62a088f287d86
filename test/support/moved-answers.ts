// What is asked before and after data are moved between engines (`dundun move`): all answers are the same.
import { connect, type MqttClient } from 'mqtt';
import { call, type Dundun, login } from './process.ts';

export const passwordOfAwa = 'talking drum';
/** Seals soon, so that there are chunks while the service runs. */
export const sealsSoon = { sealRowsMin: 500, sealRowsMax: 500 };
export const at = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString();

/** What everybody sees of everything, in the order of paths. */
export const paths = [
  ...['devices', 'gateways', 'projects', 'users', 'notifications', 'alarms', 'quotas'].map((list) => `/api/v2/${list}`),
  ...['TC', 'text', 'level'].map((sensor) => `/api/v2/devices/field/sensors/${sensor}/values?lastN=30000`),
  '/api/v2/devices/field',
  '/api/v2/devices/field/sensors/TC/values?bucket=1h&aggregate=min,max,avg,count',
  '/api/v2/devices/field/actuators/pump/values?lastN=20',
  '/api/v2/devices/field/drops',
  '/api/v2/sensors_data?device_id=field&lastN=3',
  '/api/v2/users/me/archive',
  '/api/v1/devices',
];

export async function answersOf(dundun: Dundun): Promise<Record<string, string>> {
  const token = String(await login(dundun));
  const answers: Record<string, string> = {};
  for (const path of paths) {
    const answer = await call(dundun, path, { token });
    answers[path] = `${answer.status} ${await answer.text()}`;
  }
  return answers;
}

/** @param onMessage called from the first message on, which may come with the answer to CONNECT. */
export async function connectAs(
  dundun: Dundun,
  clientId: string,
  onMessage: (topic: string, payload: Buffer) => void = () => {},
): Promise<MqttClient> {
  const client = connect(`mqtt://127.0.0.1:${dundun.ports.mqtt}`, {
    ...{ clientId, clean: false, reconnectPeriod: 0, username: 'awa', password: passwordOfAwa, protocolVersion: 4 },
  });
  client.on('message', onMessage);
  await new Promise<void>((resolve, reject) => client.once('connect', () => resolve()).once('error', reject));
  return client;
}
