// What a sensor shows now: the datapoint that was measured last. The one that was pushed last is another where older values were
// sent late; the service then names both.

import { limits } from '../limits.ts';
import { timeOfPoint } from './devices.ts';
import { serverNow } from './server-time.ts';

interface Point {
  readonly value?: unknown;
  readonly timestamp?: string;
  readonly date_received: string;
}

interface LastPoints<P extends Point> {
  readonly last_value?: P;
  readonly newest_value?: P;
}

export function currentOf<P extends Point>({ last_value, newest_value }: LastPoints<P>): P | undefined {
  return newest_value ?? last_value;
}

/** The last points of a sensor to which another has come. What lies in the future is not what it shows now. */
export function withPoint<P extends Point>(
  sensor: LastPoints<P>,
  point: P,
): Required<Pick<LastPoints<P>, 'last_value'>> & { readonly newest_value: P | undefined } {
  const current = currentOf(sensor);
  const isLate =
    current !== undefined &&
    timeOfPoint(current) > timeOfPoint(point) &&
    timeOfPoint(current) <= serverNow() + limits.futureMsMin;
  return { last_value: point, newest_value: isLate ? current : undefined };
}
