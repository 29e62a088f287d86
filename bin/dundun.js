#!/usr/bin/env node
// Starts src/main.ts on a Node.js that can run it: this one where it is new enough, so that no second process stays
// around, else the one that npm installed beside Dundun, else one clear line. Plain JavaScript for old Node.js.
import { spawn } from 'node:child_process';
import * as module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { findPinnedNode, isNewEnough, refusal } from './runtime.js';

if (isNewEnough(process.version)) {
  keepCompiled();
  await import('../src/main.ts');
} else {
  const node = findPinnedNode();
  if (node === undefined) {
    console.error(refusal);
    process.exit(1);
  }
  runOn(node);
}

/**
 * Keeps what the compiler made of the source beside the installed packages: the next start is quicker, and neither
 * thread has to load the compiler again. Where the folder cannot be written, nothing is kept.
 */
function keepCompiled() {
  const folder = fileURLToPath(new URL('../node_modules/.cache/dundun', import.meta.url));
  // The writer thread reads the variable; this thread needs the call.
  process.env['NODE_COMPILE_CACHE'] = folder;
  module.enableCompileCache(folder);
}

/** @type {(node: string) => void} */
function runOn(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`Cannot start ${node}: ${error.message}.`);
    process.exit(1);
  });
  // A child that a signal ended is reported the way shells do, as 128 and the number of the signal.
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
}
