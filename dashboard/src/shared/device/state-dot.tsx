// Whether something is heard as often as usual: fresh, late, silent, or never heard. Told by colour, by shape and, for
// screen readers and on hover, in words.
import { Tooltip } from '@mantine/core';
import type { Strings } from '../../strings/catalogue.ts';
import { useStrings } from '../../strings/strings.ts';
import type { Freshness } from './freshness.ts';
import classes from './state-dot.module.css';

export function StateDot({ state }: { readonly state: Freshness }) {
  const words = useFreshnessWords(state);
  return (
    <Tooltip label={words}>
      <span className={classes.dot} data-state={state} role="img" aria-label={words} />
    </Tooltip>
  );
}

export function freshnessWords(shared: Strings['shared']): Readonly<Record<Freshness, string>> {
  return { fresh: shared.fresh, late: shared.late, silent: shared.silent, never: shared.stateNever };
}

function useFreshnessWords(state: Freshness): string {
  const { shared } = useStrings();
  return freshnessWords(shared)[state];
}
