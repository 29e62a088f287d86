// Storage of settings that admins change.

export interface SettingStore {
  find(name: string): Promise<string | undefined>;
  /** Resolves when it is on disk. */
  save(name: string, value: string): Promise<void>;
}
