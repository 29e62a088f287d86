// MQTT clients for pictures: two that stay connected until the server ends, and one that is away with messages waiting.
import { connectAsync, type IClientOptions } from 'mqtt';
import type { ServerAddress } from '../demo/options.ts';

/** @param gateway the id under which the first connects. */
export async function connectClients(address: ServerAddress, gateway: string): Promise<void> {
  const own = `users/${address.user}`;
  const connect = (clientId: string, options: IClientOptions = {}) => {
    const login = {
      username: address.user,
      password: address.password,
      reconnectPeriod: 0,
      protocolVersion: 4,
    } as const;
    return connectAsync(address.mqtt, { clientId, ...login, ...options });
  };
  const will = { topic: `devices/${gateway}/status`, payload: Buffer.from('offline'), qos: 1, retain: true } as const;
  const mast = await connect(gateway, { clean: false, will });
  await mast.subscribeAsync(['devices/+/actuators/+/value', `devices/${gateway}/commands/#`], { qos: 1 });
  const logger = await connect('logger-7', { keepalive: 300 });
  for (const topic of ['devices/none/sensors/TC/value', 'weather/now', 'weather/now'])
    await logger.publishAsync(topic, '{"value": 21.5}', { qos: 1 });
  const pump = await connect('pump-controller', { clean: false });
  await pump.subscribeAsync(`${own}/pump`, { qos: 1 });
  await pump.endAsync();
  for (const command of ['on', 'off', 'on']) await logger.publishAsync(`${own}/pump`, command, { qos: 1 });
}
