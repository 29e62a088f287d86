// Messages between the main thread and the reader thread.
import type { RefusalCode } from '../../../base/refusal.ts';
import type { HeadPart } from '../head/head-part.ts';
import type { Reads } from '../reads/long-reads.ts';

type OrderOf<Kind extends keyof Reads> = {
  readonly id: number;
  readonly kind: Kind;
  readonly query: Reads[Kind]['query'];
  /** The part of the head that the step may need. */
  readonly part: HeadPart;
};

export type ReadRequest = { readonly [Kind in keyof Reads]: OrderOf<Kind> }[keyof Reads];

/** Returns the buffer of a text that has been sent. */
export interface ReleasedText {
  readonly spent: ArrayBuffer;
}

export type ReadResponse =
  | { readonly id: number; readonly step: Reads[keyof Reads]['step'] }
  | {
      readonly id: number;
      readonly refusal: { readonly code: RefusalCode; readonly message: string; readonly cause: string };
    }
  | { readonly id: number; readonly fault: string };
