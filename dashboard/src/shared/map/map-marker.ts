// What a map is given to show.
import type { Freshness } from '../device/freshness.ts';

export interface MapMarker {
  readonly id: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Stands beside it where there is room. */
  readonly name?: string;
  /** Shown on hover and read out. */
  readonly label: string;
  readonly state?: Freshness;
}
