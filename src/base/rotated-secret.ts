// A secret of the service that can be replaced while it is in use: for a time the one before is good beside it. Kept by
// engines/shared/registry/secret-store.ts; read by who checks what was made with it.

export interface RotatedSecret {
  readonly present: Uint8Array;
  /** The one before, and until when it is good (milliseconds since 1970 UTC); undefined where there is none. */
  readonly former: { readonly value: Uint8Array; readonly goodUntilMs: number } | undefined;
}
