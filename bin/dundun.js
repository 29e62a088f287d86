#!/usr/bin/env node
// Starts src/main.ts on a Node.js that can run it: this one where it is new enough, so that no second process stays
// around, else the one that npm installed beside Dundun, else one clear line. Plain JavaScript for old Node.js.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { findPinnedNode, isNewEnough, refusal } from './runtime.js';

if (isNewEnough(process.version)) {
  await import('../src/main.ts');
} else {
  const node = findPinnedNode();
  if (node === undefined) {
    console.error(refusal);
    process.exit(1);
  }
  runOn(node);
}

/** @type {(node: string) => void} */
function runOn(node) {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`Cannot start ${node}: ${error.message}.`);
    process.exit(1);
  });
  // A child that a signal ended is reported the way shells do, as 128 and the number of the signal.
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
}
