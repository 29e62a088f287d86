// The alarm that the storage refuses. It is in memory first, because what refuses may be where it would be stored; it is
// stored when that takes writes again. Seen by admins alone.
import type { Ids } from '../../base/ids.ts';
import type { Alarm, AlarmChange } from './alarm.ts';
import { subjectOf } from './alarm.ts';
import type { AlarmFilter } from './alarm-store.ts';

export class StorageAlarm {
  readonly #ids: Ids;
  readonly #refusesBecause: () => string | undefined;
  /** The alarm as it is to be stored; undefined where nothing is. */
  #unstored: AlarmChange | undefined;
  #isOpen = false;

  /** @param parts.refusesBecause why the storage refuses now; undefined while it takes everything. */
  constructor(parts: { readonly ids: Ids; readonly refusesBecause: () => string | undefined }) {
    this.#ids = parts.ids;
    this.#refusesBecause = parts.refusesBecause;
  }

  /** Takes over what is stored of an earlier process; what this one has found counts more. */
  begin({ isOpen }: { readonly isOpen: boolean }): void {
    if (this.#unstored === undefined) this.#isOpen = isOpen;
  }

  /** Looks whether the storage refuses. @returns whether that has changed. */
  look(nowMs: number): boolean {
    const reason = this.#refusesBecause();
    if ((reason !== undefined) === this.#isOpen) return false;
    this.#isOpen = reason !== undefined;
    const unstored = this.#unstored;
    this.#unstored = {
      ...{ kind: 'storage', subject: subjectOf.storage, id: unstored?.id ?? this.#ids.uuid() },
      ...{ begins: (unstored?.begins ?? 0) + (this.#isOpen ? 1 : 0), atMs: nowMs, sinceMs: unstored?.sinceMs ?? nowMs },
      ...{ clearedMs: this.#isOpen ? undefined : nowMs, condition: reason ?? unstored?.condition },
    };
    return true;
  }

  /** What is to be stored. */
  get unstored(): AlarmChange | undefined {
    return this.#unstored;
  }

  noteStored(stored: AlarmChange): void {
    if (this.#unstored === stored) this.#unstored = undefined;
  }

  /** The alarm that is open and could not be stored, if a list with this filter has it. */
  unstoredFor({ isOpen, isAcknowledged, isSnoozed, kind, ...others }: AlarmFilter): Alarm | undefined {
    const { id, sinceMs, begins, condition, clearedMs } = this.#unstored ?? {};
    const isWanted =
      isOpen !== false && isAcknowledged !== true && isSnoozed !== true && (kind === undefined || kind === 'storage');
    const isNarrower = Object.values(others).some((value) => value !== undefined);
    if (id === undefined || sinceMs === undefined || clearedMs !== undefined || !isWanted || isNarrower)
      return undefined;
    const text = condition === undefined ? {} : { condition };
    return { key: 0, id, kind: 'storage', sinceMs, times: begins ?? 1, ...text, mayUpdate: false, changed: 0 };
  }
}
