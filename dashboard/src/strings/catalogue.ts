// What a catalogue is: the keys and parameters of the English one, so that another language that lacks a key does not
// compile.
import type { en } from './en.ts';

/** A catalogue's shape without its words: other languages have the same keys and the same parameters. */
type Words<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : { readonly [K in keyof T]: Words<T[K]> };

export type Strings = Words<typeof en>;
