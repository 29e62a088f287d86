// Publishing a mote's readings over MQTT with QoS 1, as a device in the field does: one connection, some publishes
// under way at once, each one acknowledged when it is stored.
import { connectAsync } from 'mqtt';
import type { Mote } from './motes.ts';
import type { ServerAddress } from './options.ts';

/** Publishes of one mote that wait for their acknowledgement. */
const underWayMax = 100;

/** Resolves when every reading was acknowledged; `published` hears of each. */
export async function publishMote(
  { mqtt, user, password }: ServerAddress,
  mote: Mote,
  published: (count: number) => void,
): Promise<void> {
  const client = await connectAsync(mqtt, {
    clientId: `demo-${mote.id}-${process.pid}`,
    username: user,
    password,
    reconnectPeriod: 0,
  }).catch((error: unknown) => {
    throw new Error(`Cannot connect to ${mqtt} as ${user}: ${(error as Error).message}`, { cause: error });
  });
  const lost = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('close', () => reject(new Error(`The MQTT connection of ${mote.id} was closed.`)));
  });
  const messages = mote.sensors.flatMap(({ id, datapoints }) =>
    datapoints.map((datapoint) => ({ topic: `devices/${mote.id}/sensors/${id}/value`, datapoint })),
  );
  const remaining = messages.values();
  const publishOne = async () => {
    for (const { topic, datapoint } of remaining) {
      await client.publishAsync(topic, JSON.stringify(datapoint), { qos: 1 });
      published(1);
    }
  };
  const publishers = Promise.all(Array.from({ length: underWayMax }, publishOne));
  await Promise.race([publishers, lost]);
  // What follows closes the connection on purpose.
  lost.catch(() => {});
  await client.endAsync();
}
