// The catalogue in use. `useStrings().devices.title` is the text in the language chosen; `useLocale()`
// what numbers and times are written by. A language other than English is loaded when it is chosen.
import { createContext, useContext } from 'react';
import type { Strings } from './catalogue.ts';
import { en } from './en.ts';

export const languages = { en: 'English', fr: 'Français' } as const;
export type Language = keyof typeof languages;

export interface Locale {
  readonly language: Language;
  /** What numbers and times are written by, for Intl. */
  readonly tag: string;
  readonly strings: Strings;
  readonly choose: (language: Language) => void;
}

/** English as most of the world writes times. */
export const tags: Readonly<Record<Language, string>> = { en: 'en-GB', fr: 'fr-FR' };

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

export async function loadStrings(language: Language): Promise<Strings> {
  return language === 'fr' ? (await import('./fr.ts')).fr : en;
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
