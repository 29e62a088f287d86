// Leases as rows of the database. A lease belongs to a node; one whose node is not there any more, because it has ended or was
// declared dead, is free. One that a node has and does not know of, because it could not give it back or was not told that it has it, the
// node takes again. Epochs grow over restarts. Whoever writes under a lease has its epoch compared in the same transaction
// (registry-writer.ts).

import type { Announcement, AnnouncementHandlers } from '../../../domain/ports/announcement.ts';
import type { Coordination, Fence, Lease, LeaseName, Standing } from '../../../domain/ports/coordination.ts';
import type { Questions } from '../../../domain/ports/questions.ts';
import type { SharedCounts } from '../../../domain/ports/shared-counts.ts';
import { HeldLease } from '../../shared/held-lease.ts';
import type { RegistryWriter } from '../registry/registry-writer.ts';
import type { Announcements } from './announcements.ts';

const takeLease = `INSERT INTO lease (name, holder, epoch) VALUES ($1, $2, 1)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = lease.epoch + 1
  WHERE lease.holder IS NULL OR lease.holder = excluded.holder OR NOT EXISTS (SELECT 1 FROM node WHERE node.id = lease.holder)
  RETURNING epoch`;
const giveLease = 'UPDATE lease SET holder = NULL WHERE name = $1 AND holder = $2 AND epoch = $3';

export class PostgresCoordination implements Coordination {
  readonly standing: Standing;
  readonly counts: SharedCounts;
  readonly questions: Questions;
  readonly #node: string;
  readonly #writer: Pick<RegistryWriter, 'run'>;
  readonly #announcements: Announcements;
  readonly #epochs = new Map<LeaseName, number>();
  /** Those that are taken or given back, and those that this process knows it has. */
  readonly #held = new Set<LeaseName>();

  constructor(parts: {
    readonly node: string;
    readonly writer: Pick<RegistryWriter, 'run'>;
    readonly standing: Standing;
    readonly counts: SharedCounts;
    readonly announcements: Announcements;
    readonly questions: Questions;
  }) {
    this.#node = parts.node;
    this.#writer = parts.writer;
    this.standing = parts.standing;
    this.counts = parts.counts;
    this.questions = parts.questions;
    this.#announcements = parts.announcements;
  }

  async acquire(name: LeaseName): Promise<Lease | undefined> {
    if (this.#held.has(name)) return undefined;
    this.#held.add(name);
    let epoch: number | undefined;
    try {
      // Among the changes of the registry: the new holder sees everything that was written under the lease before.
      const { rows } = await this.#writer.run((connection) =>
        connection.query<{ epoch: number }>(takeLease, [name, this.#node]),
      );
      epoch = rows[0]?.epoch;
    } finally {
      if (epoch === undefined) this.#held.delete(name);
    }
    if (epoch === undefined) return undefined;
    this.#epochs.set(name, epoch);
    return new HeldLease({ name, epoch }, () => this.#give({ name, epoch }));
  }

  async #give({ name, epoch }: Fence): Promise<void> {
    try {
      await this.#writer.run((connection) => connection.query(giveLease, [name, this.#node, epoch]));
    } finally {
      this.#held.delete(name);
    }
  }

  announce(announcement: Announcement): Promise<void> {
    return this.#announcements.announce(announcement);
  }

  listen(handlers: AnnouncementHandlers): void {
    this.#announcements.listen(handlers);
  }

  /** False where the lease was taken with a greater epoch since, as far as this process knows. */
  isNewest({ name, epoch }: Fence): boolean {
    return epoch >= (this.#epochs.get(name) ?? 0);
  }
}
