// Starts the dashboard: finds out who this browser belongs to and which language it speaks, then shows the page.
import '@mantine/core/styles.layer.css';
import './theme/theme.css';
import './theme/global.css';
import { createRoot } from 'react-dom/client';
import { factsQuery } from './api/facts.ts';
import { session } from './api/session.ts';
import { App } from './app/app.tsx';
import { queryClient } from './app/query-client.ts';
import { fetchPage } from './app/router.tsx';
import { loadStrings, preferredLanguage } from './strings/strings.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// Read by what adds style elements of its own (the locking of scrolling under a dialog).
Object.assign(globalThis, { __webpack_nonce__: nonce });

/** A function of its own, because what a language needs may be in the very file that would wait for it. */
async function start(): Promise<void> {
  fetchPage();
  const language = preferredLanguage();
  // The server tells its time with the facts; without it the browser's clock counts.
  const facts = queryClient.prefetchQuery({ ...factsQuery, retry: false });
  const [strings] = await Promise.all([loadStrings(language), session.start(), facts]);
  const root = document.getElementById('root');
  if (root === null) return;
  createRoot(root, { onRecoverableError }).render(<App nonce={nonce} language={language} strings={strings} />);
}

/** React says that it has drawn again what could not be drawn; why it could not is the cause of that. */
function onRecoverableError(error: unknown): void {
  reportError((error instanceof Error ? error.cause : undefined) ?? error);
}

void start();
