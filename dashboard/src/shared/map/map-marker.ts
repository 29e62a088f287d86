// What a map is given to show.
import type { Freshness } from '../device/freshness.ts';

/** Whether a place can be drawn: what is stored may be older than the check of what is sent. */
export function isOnEarth({ latitude, longitude }: Pick<MapMarker, 'latitude' | 'longitude'>): boolean {
  return isWithin(latitude, 90) && isWithin(longitude, 180);
}

function isWithin(degrees: unknown, most: number): boolean {
  return typeof degrees === 'number' && Math.abs(degrees) <= most;
}

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
