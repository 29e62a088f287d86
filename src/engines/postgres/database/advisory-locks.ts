// The advisory locks of PostgreSQL that this service takes, as pairs of numbers: the first says that they are ours. They hold in
// one database.

const ours = 0x64756e;

export const locks = {
  /** Of a session: there is a server on these data. */
  node: `${ours}, 1`,
  /** Of a transaction: it changes the registry. */
  registryWrites: `${ours}, 2`,
} as const;
