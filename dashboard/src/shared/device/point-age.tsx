// How long ago a datapoint was measured; one that is dated in the future has a sign beside it that says what is wrong.
import type { Datapoint } from '../../api/client.ts';
import { timeOfPoint } from '../../api/devices.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';
import { useNow } from '../page/use-now.ts';
import { Age } from './age.tsx';
import classes from './point-age.module.css';

export function PointAge({ point }: { readonly point: Datapoint }) {
  const { shared } = useStrings();
  const atMs = timeOfPoint(point);
  const isAhead = atMs - useNow() > limits.futureMsMin;
  return (
    <span className={classes.age}>
      {isAhead && (
        <span className={classes.sign} role="img" aria-label={shared.datedAhead} title={shared.datedAhead}>
          <Icon name="warning" size={14} />
        </span>
      )}
      <Age at={new Date(atMs).toISOString()} quiet />
    </span>
  );
}
