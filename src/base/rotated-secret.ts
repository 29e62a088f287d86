// A secret of the service that can be rotated while in use: the former one stays valid for a time. Stored by
// engines/shared/registry/accounts/secret-store.ts.

export interface RotatedSecret {
  readonly present: Uint8Array;
  /** The former secret and the end of its validity (milliseconds since 1970 UTC); undefined where there is none. */
  readonly former: { readonly value: Uint8Array; readonly goodUntilMs: number } | undefined;
}
