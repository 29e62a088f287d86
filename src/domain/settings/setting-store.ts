// The store of settings that admins change, as texts by name. Engines implement it.

export interface SettingStore {
  find(name: string): Promise<string | undefined>;
  /** Stores a setting; resolves when it is on disk. */
  save(name: string, value: string): Promise<void>;
}
