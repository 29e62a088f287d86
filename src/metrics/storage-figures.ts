// The figures of what is stored, and of what reads it: the disk, the storage quota, the engine and its reader thread. Used by
// metrics.ts.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { StorageQuota } from '../domain/datapoints/ingest/storage-quota.ts';
import type { EngineFigures, ReadCounts, StandbyCounts } from '../domain/ports/engine.ts';

export function watchStorageQuota(storageQuota: StorageQuota, registers: Registry[]): void {
  new Gauge({
    name: 'dundun_data_bytes',
    help: 'What the data takes on the disk, without space in its file that is free again.',
    registers,
    collect() {
      this.set(storageQuota.usage?.usedBytes ?? 0);
    },
  });
  new Gauge({
    name: 'dundun_data_max_bytes',
    help: 'What the data may take (DUNDUN_DATA_MAX_BYTES); +Inf without a cap.',
    registers,
    collect() {
      this.set(storageQuota.bytesMax ?? Number.POSITIVE_INFINITY);
    },
  });
  new Gauge({
    name: 'dundun_disk_free_bytes',
    help: 'What is free on the disk of the data folder.',
    registers,
    collect() {
      this.set(storageQuota.usage?.freeBytes ?? 0);
    },
  });
  new Gauge({
    name: 'dundun_disk_reserve_bytes',
    help: 'What the service holds on that disk for the time when it is full.',
    registers,
    collect() {
      this.set(storageQuota.usage?.reserveBytes ?? 0);
    },
  });
  new Counter({
    name: 'dundun_datapoints_refused_total',
    help: 'Datapoints refused since the start because there was no room for them.',
    registers,
    collect() {
      this.reset();
      this.inc(storageQuota.refusedDatapoints);
    },
  });
}

export function watchStorage(figures: EngineFigures, registers: Registry[]): void {
  new Gauge({
    name: 'dundun_storage_losses',
    help: 'Times at which acknowledged writes were lost by damage on the disk, until `dundun check --forget-damaged`.',
    registers,
    collect() {
      this.set(figures.lossesByDamage);
    },
  });
  new Gauge({
    name: 'dundun_storage_refuses',
    help: '1 while the disk refuses to write, or datapoints are refused because they cannot be compressed; else 0.',
    registers,
    collect() {
      this.set(figures.refusesBecause === undefined ? 0 : 1);
    },
  });
  new Counter({
    name: 'dundun_storage_refusals_total',
    help: 'Writes refused since the start because of that; several requests may share one.',
    registers,
    collect() {
      this.reset();
      this.inc(figures.refusedWrites);
    },
  });
}

export function watchReads(reads: ReadCounts, registers: Registry[]): void {
  new Counter({
    name: 'dundun_long_read_steps_total',
    help: 'Steps of long reads begun since the start.',
    registers,
    collect() {
      this.reset();
      this.inc(reads.made);
    },
  });
  new Counter({
    name: 'dundun_long_read_steps_dropped_total',
    help: 'Steps of long reads that were not made, because the connection had ended before their turn came.',
    registers,
    collect() {
      this.reset();
      this.inc(reads.dropped);
    },
  });
  new Gauge({
    name: 'dundun_long_read_steps_waiting',
    help: 'Steps of long reads that wait for their turn.',
    registers,
    collect() {
      this.set(reads.waiting);
    },
  });
}

export function watchStandby(standby: StandbyCounts, registers: Registry[]): void {
  new Counter({
    name: 'dundun_standby_reads_total',
    help: 'Steps of reads of history since the start whose chunks came from the standby.',
    registers,
    collect() {
      this.reset();
      this.inc(standby.read);
    },
  });
  new Counter({
    name: 'dundun_standby_fallbacks_total',
    help: 'Steps of reads of history since the start that the standby was to answer, and the primary did, by reason.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(standby.fallbacks)) this.inc({ reason }, count);
    },
  });
}
