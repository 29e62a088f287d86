// The store of shares of gateways and projects, as the domain needs it; engines implement it. Such a share may give
// scopes on the record’s devices too, where they belong to the same owner (contract 3).
import type { BatchRange } from '../../base/in-batches.ts';
import type { DeviceKey } from '../device-key.ts';
import type { ProtectedRecord } from '../permissions/permission.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { DeviceId } from './device.ts';
import type { Share, ShareDirection, SharesPage } from './device-store.ts';

/** A gateway or project that is shared. */
export interface SharedRecord extends ProtectedRecord {
  readonly kind: 'gateway' | 'project';
  readonly key: number;
  /** Of a project: the devices it names. A change is refused where it names others by now. */
  readonly deviceIds?: readonly DeviceId[];
}

export type SharedRecordKind = SharedRecord['kind'];

/** What a change of a share came to. */
export interface ShareChange {
  /**
   * False: nothing was changed, because the record has another owner or names other devices by now, or its owner has too
   * many shares.
   */
  readonly isDone: boolean;
  /** Whether the share gave, or gives, rights on devices. */
  readonly reachesDevices: boolean;
}

/** A share as it is shown to the record's owner and to the user who has it. */
export interface ShareOfRecord extends Share {
  /** Of the record. */
  readonly key: number;
  readonly id: string;
  readonly name?: string;
  /** The record's owner. */
  readonly owner: string;
  /** The user who gave the share; absent where that is not known. */
  readonly givenBy?: string;
}

/** A share by which a user has rights on a device: of the device itself, or of its gateway or a project. */
export interface ShareSource {
  readonly kind: 'device' | SharedRecordKind;
  /** Id of the record that is shared. */
  readonly record: string;
  /** Scopes on the device. */
  readonly scopes: ScopeSet;
  readonly givenBy?: string;
}

export interface RecordShareStore {
  /** By username. */
  list(record: SharedRecord): Promise<Share[]>;
  /**
   * Gives the user exactly these scopes. `reachingMax`: how many shares with scopes on devices the record's owner may
   * have, on all records together.
   */
  put(
    record: SharedRecord,
    user: UserKey,
    share: { readonly scopes: ScopeSet; readonly givenBy: UserKey; readonly reachingMax: number },
  ): Promise<ShareChange>;
  remove(record: SharedRecord, user: UserKey): Promise<ShareChange>;
  /** Shares in order of their records' creation, and of username. */
  listOf(kind: SharedRecordKind, direction: ShareDirection, page: SharesPage): Promise<ShareOfRecord[]>;
  countOf(kind: SharedRecordKind, direction: ShareDirection): Promise<number>;
  /** Whether a share of this record gives rights on devices. */
  reachesDevices(record: SharedRecord): Promise<boolean>;
  /** Every share by which the user has rights on the device; of the device itself first. */
  listSources(device: DeviceKey, user: UserKey): Promise<ShareSource[]>;
  /** Devices that name the gateway, whoever owns them, after `after` in order of creation. */
  listDevicesOfGateway(
    gateway: string,
    range: BatchRange,
  ): Promise<{ readonly key: DeviceKey; readonly id: DeviceId }[]>;
}
