// The catalogue in use. `useStrings().devices.title` is the text in the language chosen; `useLocale()`
// what numbers and times are written by. A language other than English is loaded when it is chosen.
import { createContext, useContext } from 'react';
import type { Strings } from './catalogue.ts';
import { en } from './en.ts';

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
  readonly strings: Strings;
  readonly choose: (language: Language) => void;
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

export function useStrings(): Strings {
  return useContext(LocaleContext).strings;
}

export function useLocale(): Locale {
  return useContext(LocaleContext);
}

/** Each in a file of its own, which is fetched when the language is chosen. */
const catalogues: Readonly<Record<Language, () => Promise<Strings> | Strings>> = {
  en: () => en,
  fr: async () => (await import('./fr.ts')).fr,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  sw: async () => (await import('./sw.ts')).sw,
  ar: async () => (await import('./ar.ts')).ar,
};

export async function loadStrings(language: Language): Promise<Strings> {
  return catalogues[language]();
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
