// The advisory locks of PostgreSQL that this service takes, as pairs of numbers: the first says that they are ours. They hold in
// one database.

const ours = 0x64756e;

export const locks = {
  /**
   * Of a session: there is a server on these data. Servers share it; who changes the tables has it alone, and so has a server of a
   * release that knows no others.
   */
  servers: `${ours}, 1`,
  /** Of a transaction: it changes the registry. */
  registryWrites: `${ours}, 2`,
  /** Of a transaction: a server joins; or what those do that are there is changed, so that none joins meanwhile (upgrade.ts). */
  joining: `${ours}, 3`,
  /** Of a session: it runs migrations. */
  migrating: `${ours}, 4`,
  /** Of a session: a command uses the tables as its release knows them. Commands share it; who changes that has it alone. */
  commands: `${ours}, 5`,
  /** Of a session, the second number is that of the server: it is connected. */
  nodeNumbers: `${ours + 1}`,
} as const;
