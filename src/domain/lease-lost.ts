// Thrown when something should be written under a lease that another process has taken since. Nothing was stored. It
// is no failure: the other process continues the work, and the code that gets this error stops.
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`Another process has taken over the lease ${name}. Nothing was stored.`);
    this.name = 'LeaseLost';
  }
}
