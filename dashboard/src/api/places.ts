// Where something is, on the globe.

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Whether a place can be drawn: what is stored may be older than the check of what is sent. */
export function isOnEarth(stored: unknown): stored is Place {
  const { latitude, longitude } = (stored ?? {}) as Partial<Place>;
  return isWithin(latitude, 90) && isWithin(longitude, 180);
}

function isWithin(degrees: unknown, most: number): boolean {
  return typeof degrees === 'number' && Math.abs(degrees) <= most;
}
