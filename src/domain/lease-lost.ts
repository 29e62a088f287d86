// Thrown where something was to be written under a lease that somebody else has taken since: nothing was stored. The work
// goes on there, so it is no failure, and who asked for it stops.
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`Another process has taken over the lease ${name}. Nothing was stored.`);
    this.name = 'LeaseLost';
  }
}
