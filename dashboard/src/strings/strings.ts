// The catalogue in use. `useStrings().devices.title` is the text in the language chosen; `useLocale()` what numbers and times are
// written by. Both know what the shell and the first pages say; pages beyond ask `usePageStrings()` or `usePageLocale()`, whose part
// is a file of its own, so that the first page does not wait for it. A language other than English is loaded when it is chosen.
import { createContext, type FulfilledReactPromise, use, useContext, useMemo } from 'react';
import { loadedFile } from '../api/loaded-file.ts';
import { limits } from '../limits.ts';
import type { FirstStrings, PageStrings, Strings } from './catalogue.ts';
import { en } from './en.ts';
import { withIsolatedParts } from './isolated.ts';

export const languages = {
  en: 'English',
  fr: 'Français',
  es: 'Español',
  pt: 'Português',
  sw: 'Kiswahili',
  ar: 'العربية',
} as const;
export type Language = keyof typeof languages;

export interface Locale {
  readonly language: Language;
  /** What numbers and times are written by, for Intl. */
  readonly tag: string;
  readonly strings: FirstStrings;
  readonly choose: (language: Language) => void;
}

export interface PageLocale extends Locale {
  readonly strings: Strings;
}

/** Languages whose texts nobody has looked at yet who grew up with them; their names say so. */
export const unreviewed: ReadonlySet<string> = new Set<Language>(['es', 'pt', 'sw', 'ar']);

/** English as most of the world writes times; Arabic with the digits that stand on the devices. */
export const tags: Readonly<Record<Language, string>> = {
  en: 'en-GB',
  fr: 'fr-FR',
  es: 'es-ES',
  pt: 'pt-PT',
  sw: 'sw-KE',
  ar: 'ar-u-nu-latn',
};

export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr';
}

export const LocaleContext = createContext<Locale>({
  language: 'en',
  tag: 'en-GB',
  strings: en,
  choose: () => undefined,
});

export function useStrings(): FirstStrings {
  return useContext(LocaleContext).strings;
}

export function useLocale(): Locale {
  return useContext(LocaleContext);
}

/** All strings; where those of pages are still on their way, whoever asks is drawn when they are there. */
export function usePageStrings(): Strings {
  const { language, strings } = useLocale();
  // Asked for even where they have come: when they come while React waits, it draws on with what the component asked for
  // before; one that does not ask again makes it take the hooks behind this one for hooks it should know, and throw.
  const pages = use(refusedPages.get(language) ?? loadPageStrings(language));
  return useMemo(() => ({ ...strings, ...pages }), [strings, pages]);
}

export function usePageLocale(): PageLocale {
  const { strings: _, ...locale } = useLocale();
  return { ...locale, strings: usePageStrings() };
}

/** Each in a file of its own, which is fetched when the language is chosen. */
const catalogues: Readonly<Record<Language, () => Promise<FirstStrings> | FirstStrings>> = {
  en: () => en,
  fr: async () => (await import('./fr.ts')).fr,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  sw: async () => (await import('./sw.ts')).sw,
  ar: async () => (await import('./ar.ts')).ar,
};

export async function loadStrings(language: Language): Promise<FirstStrings> {
  return withIsolatedParts(await catalogues[language]());
}

const pageCatalogues: Readonly<Record<Language, () => Promise<PageStrings>>> = {
  en: async () => (await import('./pages-en.ts')).enPages,
  fr: async () => (await import('./pages-fr.ts')).frPages,
  es: async () => (await import('./pages-es.ts')).esPages,
  pt: async () => (await import('./pages-pt.ts')).ptPages,
  sw: async () => (await import('./pages-sw.ts')).swPages,
  ar: async () => (await import('./pages-ar.ts')).arPages,
};

/** As `use` notes it in a promise: where its value stands in it, nobody waits, not even for a moment. */
type Noted = Promise<PageStrings> & Partial<FulfilledReactPromise<PageStrings>>;

const loadingPages = new Map<Language, Noted>();
/** What could not be had a moment ago: who draws is to say so, and not to ask again with each attempt to draw. */
const refusedPages = new Map<Language, Noted>();

/** What the pages beyond the first say; where it cannot be had it is asked for anew the next time. */
export function loadPageStrings(language: Language): Promise<PageStrings> {
  const known = loadingPages.get(language);
  if (known !== undefined) return known;
  const loading: Noted = loadedFile(pageCatalogues[language])().then(withIsolatedParts);
  loadingPages.set(language, loading);
  loading.then(
    (value) => {
      loading.status = 'fulfilled';
      loading.value = value;
      refusedPages.delete(language);
    },
    () => {
      loadingPages.delete(language);
      refusedPages.set(language, loading);
      setTimeout(() => refusedPages.delete(language), limits.wordsRefusedMs);
    },
  );
  return loading;
}

const languageKey = 'dundun.language';

/** The language chosen in this browser, else the browser's own where we have it. */
export function preferredLanguage(): Language {
  const chosen = localStorage.getItem(languageKey);
  if (chosen !== null && isLanguage(chosen)) return chosen;
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en';
}

export function rememberLanguage(language: Language): void {
  localStorage.setItem(languageKey, language);
}

function isLanguage(text: string): text is Language {
  return Object.hasOwn(languages, text);
}
