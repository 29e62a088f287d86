// What a catalogue is: the keys and parameters of the English one, so that another language that lacks a key does not
// compile. In two parts, because most words are of pages that few look at first.
import type { en } from './en.ts';
import type { enPages } from './pages-en.ts';

/** A catalogue's shape without its words: other languages have the same keys and the same parameters. */
type Words<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : { readonly [K in keyof T]: Words<T[K]> };

/** What the shell, the list of devices and the page Now say. */
export type FirstStrings = Words<typeof en>;
/** What all other pages say besides. */
export type PageStrings = Words<typeof enPages>;
export type Strings = FirstStrings & PageStrings;
