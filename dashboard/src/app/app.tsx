// The parts that hold the whole dashboard: language, look, answers of the server, routes.
import { DirectionProvider, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useMemo, useState } from 'react';
import { session } from '../api/session.ts';
import { Toasts } from '../shared/page/toasts.tsx';
import type { FirstStrings } from '../strings/catalogue.ts';
import {
  directionOf,
  type Language,
  LocaleContext,
  loadPageStrings,
  loadStrings,
  rememberLanguage,
  tags,
} from '../strings/strings.ts';
import { resolveVariables, theme } from '../theme/theme.ts';
import { queryClient } from './query-client.ts';
import { router } from './router.tsx';

export interface AppProps {
  readonly nonce: string;
  readonly language: Language;
  readonly strings: FirstStrings;
}

export function App({ nonce, ...first }: AppProps) {
  const [{ language, strings }, setLocale] = useState(first);
  const locale = useMemo(() => {
    const choose = async (chosen: Language) => {
      rememberLanguage(chosen);
      // All of it, so that no page goes while its words come.
      const [strings] = await Promise.all([loadStrings(chosen), loadPageStrings(chosen)]);
      setLocale({ language: chosen, strings });
    };
    return { language, tag: tags[language], strings, choose: (chosen: Language) => void choose(chosen) };
  }, [language, strings]);
  const direction = directionOf(language);
  useLayoutEffect(() => {
    document.documentElement.lang = language;
    document.documentElement.dir = direction;
  }, [language, direction]);
  useEffect(forgetAnswersOfOthers, []);
  return (
    <LocaleContext value={locale}>
      {/* Anew where the direction changes: what has measured itself would stay where it was. */}
      <DirectionProvider key={direction} initialDirection={direction} detectDirection={false}>
        <MantineProvider
          theme={theme}
          defaultColorScheme="auto"
          getStyleNonce={() => nonce}
          cssVariablesResolver={resolveVariables}
        >
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
            <Toasts />
          </QueryClientProvider>
        </MantineProvider>
      </DirectionProvider>
    </LocaleContext>
  );
}

/** What one person was shown is not kept for the next one. */
function forgetAnswersOfOthers(): () => void {
  let before = session.token === undefined ? '' : userOf();
  return session.subscribe(() => {
    if (userOf() === before) return;
    before = userOf();
    void queryClient.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'facts' });
  });
}

function userOf(): string {
  return session.state.status === 'user' ? session.state.userId : '';
}
