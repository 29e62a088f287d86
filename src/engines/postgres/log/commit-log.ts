// The port CommitLog on PostgreSQL: one row of the log for each commit (decision 44). What is committed is in the head at once;
// followers read rows.
import type { DatapointBatch, PushReceipt } from '../../../domain/datapoints/datapoint-batch.ts';
import type {
  ClientMessage,
  CommitLog,
  FingerprintTrim,
  FollowedPush,
  LogEntry,
  PushedAs,
} from '../../../domain/ports/commit-log.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import { toWords } from '../../shared/log/fingerprint-records.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { Appender } from './appender.ts';
import type { Confirmation } from './confirmation.ts';
import type { LogFollower } from './log-follower.ts';
import { readRows } from './log-reader.ts';
import type { LogState } from './log-state.ts';
import { listFingerprints, trimFingerprints } from './publish-fingerprints.ts';
import type { Receipts } from './receipts.ts';

interface CommitLogParts {
  readonly database: PostgresDatabase;
  readonly state: LogState;
  readonly appender: Appender;
  readonly follower: LogFollower;
  readonly receipts: Receipts;
  readonly confirmation: Confirmation;
  readonly caughtUp: () => Promise<void>;
  /** False where the lease was taken with a greater epoch. */
  readonly isNewest: (fence: Fence) => boolean;
  /** Runs work while no pass of sealing is under way. */
  readonly exclusively: <T>(work: () => Promise<T>) => Promise<T>;
}

export class PostgresCommitLog implements CommitLog {
  readonly #parts: CommitLogParts;
  /** Also called with what this process has appended and was found to be stored when nobody waited for it any more. */
  onFollowed: (pushes: readonly FollowedPush[]) => Promise<void> = async () => {};

  /** The same of messages. */
  onRelayed: (messages: readonly ClientMessage[]) => Promise<void> = async () => {};
  onPublished: (records: Uint32Array) => void = () => {};

  constructor(parts: CommitLogParts) {
    this.#parts = parts;
    parts.appender.onFound = (pushes) => this.onFollowed(pushes);
    parts.appender.onFoundRelayed = (messages) => this.onRelayed(messages);
  }

  get isCatchingUp(): boolean {
    return this.#parts.appender.isCatchingUp;
  }

  get sealingDebt(): number {
    return this.#parts.appender.sealingDebt;
  }

  set onCaughtUp(caughtUp: () => void) {
    this.#parts.appender.onCaughtUp = caughtUp;
  }

  append(batch: DatapointBatch, pushesOf?: () => readonly PushedAs[]): Promise<number> {
    return this.#parts.appender.append(batch, pushesOf);
  }

  relay(messageOf: () => ClientMessage): Promise<void> | undefined {
    return this.#parts.appender.relay(messageOf);
  }

  caughtUp(): Promise<void> {
    return this.#parts.caughtUp();
  }

  get lastPosition(): number {
    return this.#parts.state.lastSeq;
  }

  async newestReceivedMs(): Promise<number | undefined> {
    const logged = this.#parts.state.head.lastReceivedMs;
    if (logged !== undefined) return logged;
    const sql = 'SELECT newest_received AS ms FROM seal_pass WHERE is_whole = 1 ORDER BY number DESC LIMIT 1';
    return (await this.#parts.database.query<{ ms: number | null }>(sql))[0]?.ms ?? undefined;
  }

  readAfter(position: number): Promise<LogEntry[]> {
    return this.#parts.follower.readAfter(position);
  }

  confirm(position: number | undefined, fence: Fence): void {
    if (this.#parts.isNewest(fence)) this.#parts.confirmation.note(position, fence);
  }

  async confirmedPosition(): Promise<number | undefined> {
    await this.#parts.confirmation.flush();
    const sql = "SELECT value FROM counter WHERE name = 'followed_seq'";
    return (await this.#parts.database.query<{ value: number }>(sql))[0]?.value;
  }

  claimReceipt(
    id: string,
    times: { readonly sinceMs: number; readonly untilMs?: number },
  ): Promise<PushReceipt | undefined> {
    return this.#parts.receipts.claim(id, times);
  }

  releaseClaim(id: string): Promise<void> {
    return this.#parts.receipts.release(id);
  }

  /** Those of the table, then those of rows that are not sealed. Asked at start. */
  async listFingerprints(): Promise<Iterable<Uint32Array>> {
    const { database, state } = this.#parts;
    return this.#parts.exclusively(async () => {
      const found: Uint32Array[] = [];
      for await (const records of listFingerprints(database)) found.push(records);
      const query = <Row>(sql: string, parameters: readonly unknown[]) => database.query<Row>(sql, parameters);
      for await (const rows of readRows(query, state.unsealedRows)) {
        for (const { content } of rows) {
          if (typeof content !== 'string' && content.fingerprints !== undefined)
            found.push(toWords(Uint8Array.from(content.fingerprints)));
        }
      }
      return found;
    });
  }

  trimFingerprints(trim: FingerprintTrim): Promise<void> {
    return this.#parts.exclusively(() => trimFingerprints(this.#parts.database, trim));
  }
}
