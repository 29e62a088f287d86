// The page of the interactive reference: Scalar, with every feature off that would call another host, under our own
// header.

import { addressUnknown } from './introduction.ts';

/** A talking drum: two skins, a narrow waist, the cords between. */
const drum =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#d4471c" d="M4 6h24c0 5-8 6-8 10s8 5 8 10H4c0-5 8-6 8-10S4 11 4 6z"/><path fill="none" stroke="#fff" stroke-opacity=".75" stroke-width="1.3" d="M10 8.500c2 3 4 4.500 4 7.500s-2 4.500-4 7.500M22 8.500c-2 3-4 4.500-4 7.500s2 4.500 4 7.500M16 8.500v15"/><rect fill="#8f2c0e" x="3" y="3" width="26" height="4" rx="2"/><rect fill="#8f2c0e" x="3" y="25" width="26" height="4" rx="2"/></svg>';

const systemFonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
const systemCodeFonts = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** The appearance of the renderer: system fonts, one warm accent. */
const themeCss = `
:root { --scalar-font: ${systemFonts}; --scalar-font-code: ${systemCodeFonts}; --scalar-custom-header-height: 52px; }
.light-mode { --scalar-color-accent: #b83a12; --scalar-background-accent: #b83a1214; --scalar-button-1: #b83a12; --scalar-button-1-hover: #9a300f; }
.dark-mode { --scalar-color-accent: #ff8a5c; --scalar-background-accent: #ff8a5c1f; --scalar-button-1: #ff8a5c; --scalar-button-1-hover: #ffa27d; }
.light-mode .t-doc__sidebar, .dark-mode .t-doc__sidebar { --scalar-sidebar-color-active: var(--scalar-color-accent); }
.section:focus-visible { outline: none; }
.darklight-reference a { display: none; }
@media (width <= 1000px) { :root { --scalar-custom-header-height: 0px; } }
/* On a phone the dialog of a request is as wide as the phone, and its buttons stand beside each other. */
@media (width <= 800px) { .scalar-client main > * { min-width: 0; } .t-app__top-container { padding-left: 48px !important; } }
`;

const headCss = `
:root { color-scheme: light dark; }
body { margin: 0; font-family: ${systemFonts}; }
.head { position: sticky; top: 0; z-index: 20; box-sizing: border-box; height: 52px; padding: 0 20px; display: flex; align-items: center; gap: 10px; border-bottom: 1px solid var(--scalar-border-color, #8883); background: var(--scalar-background-1, Canvas); color: var(--scalar-color-1, CanvasText); font-size: 15px; }
.head svg { width: 26px; height: 26px; flex: none; }
.brand { color: inherit; text-decoration: none; display: flex; align-items: center; gap: 10px; font-weight: 700; font-size: 18px; letter-spacing: -0.01em; }
.head .what { color: var(--scalar-color-2, GrayText); }
/* On a narrow screen Scalar has a bar of its own: ours scrolls away and leaves it the place. */
@media (width <= 1000px) { .head { position: static; } }
`;

/** @see docs/decisions/0003-api-reference.md for why each of these is off. */
const configuration = {
  // The page calls the service it was loaded from, whatever address the document names.
  servers: [{ url: '/', description: 'This service' }],
  customCss: themeCss,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  proxyUrl: '',
  externalUrls: { dashboardUrl: '', registryUrl: '', proxyUrl: '', apiBaseUrl: '' },
  persistAuth: false,
  orderSchemaPropertiesBy: 'preserve',
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  authentication: { preferredSecurityScheme: 'bearer' },
};

/** Escaped, because a page that names another address looks as if it called it. */
const placeholder = JSON.stringify(`API=${addressUnknown}/`).replaceAll('/', '\\/');

/**
 * Starts the renderer. The first lines, which people copy, get the address by which this page was reached, unless the
 * operator has named one. Without a token no Authorization header is sent: an empty one would be an invalid token.
 */
const start = `
fetch('/openapi.json')
  .then((answer) => answer.text())
  .then((text) => {
    Scalar.createApiReference('#reference', {
      ...${JSON.stringify(configuration).replaceAll('<', '\\u003c')},
      content: text.replaceAll(${placeholder}, 'API=' + location.origin + '/'),
      onBeforeRequest({ requestBuilder }) {
        requestBuilder.security = requestBuilder.security.filter(({ value }) => value.trim() !== '');
      },
    });
  })
  .catch(() => {
    document.getElementById('reference').textContent = 'The reference could not be read. Load this page again.';
  });
`;

export function referencePage({ scriptPath, nonce }: { readonly scriptPath: string; readonly nonce: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Dundun API reference</title>
<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,${encodeURIComponent(drum)}">
<style>${headCss}</style>
</head>
<body>
<header class="head">
<a class="brand" href="/">${drum}Dundun</a>
<span class="what">API reference</span>
</header>
<noscript>This page needs JavaScript. What it shows is also at <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="reference"></div>
<script nonce="${nonce}" src="${scriptPath}"></script>
<script nonce="${nonce}">${start}</script>
</body>
</html>
`;
}
