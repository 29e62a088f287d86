// What the settings that admins change need remembered over a restart.

export interface SettingStore {
  find(name: string): Promise<string | undefined>;
  /** Resolves when it is on disk. */
  save(name: string, value: string): Promise<void>;
}
