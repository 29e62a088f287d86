// Run by `npm ci`: builds the dashboard where its tools are installed. An installation without them, or on a Node.js
// that is too old, is no failure: the service runs, and says at start what is missing.
import { existsSync } from 'node:fs';
import { isNewEnough } from '../bin/runtime.js';

if (!isNewEnough(process.version)) {
  console.log('The dashboard is not built: that takes the Node.js the service takes.');
} else if (!existsSync(new URL('../node_modules/vite', import.meta.url))) {
  console.log('The dashboard is not built: its tools are not installed (`npm ci` without --omit=dev installs them).');
} else {
  await import('./build-dashboard.ts');
}
