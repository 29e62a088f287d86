// A filter on last values as a parameter of a search. They lie in the memory of the service, or in rows that its own tests
// compare (last-value.ts), so before the search the parameter is replaced by the keys of devices (registry/searches.ts).
import { areMet, type LastValueTest, parseLastValueTests } from '../../shared/registry/conditions/last-value.ts';

export class AskedLastValues {
  readonly tests: readonly LastValueTest[];
  /** True where devices without values meet the filter: then those are listed that do not meet it. */
  readonly listsOthers: boolean;

  /** @param asked as `lastValueCondition` hands it to the dialect. */
  constructor(asked: string) {
    this.tests = parseLastValueTests(asked);
    this.listsOthers = areMet(this.tests, 0);
  }

  /** @param met the tests that any of the device's sensors meets. */
  lists(met: number): boolean {
    return areMet(this.tests, met) !== this.listsOthers;
  }
}
