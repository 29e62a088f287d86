// What other servers are removing, so that it is not found, or takes nothing, at this one either. Kept by server: one that has died does
// not say that its removals have ended, and those of the others go on. Used by the directory and by users.

/** `Name`: of what is being removed. */
export class LeavingElsewhere<Name> {
  /** The servers that are removing it. Bounded by their removals in progress. */
  readonly #servers = new Map<Name, Set<string>>();

  get size(): number {
    return this.#servers.size;
  }

  has(name: Name): boolean {
    return this.#servers.has(name);
  }

  names(): Iterable<Name> {
    return this.#servers.keys();
  }

  /** Follows the beginning or the end of a removal by this server. */
  follow(name: Name, { server, isLeaving }: { readonly server: string; readonly isLeaving: boolean }): void {
    const servers = this.#servers.get(name) ?? new Set();
    if (isLeaving) servers.add(server);
    else servers.delete(server);
    if (servers.size > 0) this.#servers.set(name, servers);
    else this.#servers.delete(name);
  }

  /** What is being removed by servers alone that are not among these. */
  leftBy(present: readonly string[]): Name[] {
    const isLeft = (servers: ReadonlySet<string>) => !present.some((server) => servers.has(server));
    return [...this.#servers].filter(([, servers]) => isLeft(servers)).map(([name]) => name);
  }

  /** Servers that are not among these remove nothing any more. */
  keepOnly(present: readonly string[]): void {
    for (const [name, servers] of this.#servers)
      for (const server of servers) if (!present.includes(server)) this.follow(name, { server, isLeaving: false });
  }
}
