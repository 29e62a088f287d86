// Asks the browser where one is, with a plain word where it refuses: browsers tell it to pages over HTTPS only, and where the
// user allows it. For maps and for forms that name a place.

export interface OwnPosition {
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyMetres: number;
}

export type PositionFault = 'insecure' | 'refused' | 'unknown';

/** Milliseconds that a receiver may take to find itself. */
const timeoutMs = 20_000;

export function askPosition(onFound: (place: OwnPosition) => void, onFault: (fault: PositionFault) => void): void {
  if (!window.isSecureContext || navigator.geolocation === undefined) {
    onFault('insecure');
    return;
  }
  navigator.geolocation.getCurrentPosition(
    ({ coords }) =>
      onFound({ latitude: coords.latitude, longitude: coords.longitude, accuracyMetres: coords.accuracy }),
    ({ code, PERMISSION_DENIED }) => onFault(code === PERMISSION_DENIED ? 'refused' : 'unknown'),
    { enableHighAccuracy: true, timeout: timeoutMs, maximumAge: 60_000 },
  );
}
