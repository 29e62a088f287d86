// Reads from the registry how long each sensor's datapoints are kept.
import type { RetentionStore, SensorRetention } from '../../../../domain/datapoints/retention-job.ts';
import type { SensorKey } from '../../../../domain/devices/sensor.ts';
import type { Registry } from '../registry.ts';

export class SqlRetentionStore implements RetentionStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async listSensors({
    after,
    limit,
  }: {
    readonly after: SensorKey;
    readonly limit: number;
  }): Promise<SensorRetention[]> {
    const rows = await this.#registry.read
      .selectFrom('sensor')
      .innerJoin('device', 'device.key', 'sensor.device')
      .select(['sensor.key', 'sensor.retention_days as own', 'device.retention_days as ofDevice'])
      .where('sensor.key', '>', after)
      .orderBy('sensor.key')
      .limit(limit)
      .execute();
    return rows.map(({ key, own, ofDevice }) => ({ sensor: key, days: own ?? ofDevice ?? undefined }));
  }
}
