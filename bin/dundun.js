#!/usr/bin/env node
// Starts src/main.ts on a Node.js that can run it: this one where it is new enough, so that no second process stays
// around, else the one that npm installed beside Dundun, else one clear line. Plain JavaScript for old Node.js.
import { spawn } from 'node:child_process';
import * as module from 'node:module';
import { availableParallelism, constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { findPinnedNode, isNewEnough, refusal } from './runtime.js';

/** Of glibc: two pools, and what is larger than 128 KiB goes back when it is freed. */
const allocator = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

/**
 * Of the engine: at most so many MiB of young objects twice, an eighth of what it takes by itself under load. On one core
 * nobody helps it to collect: helpers would only take turns with it.
 */
const heap = ['--max-semi-space-size=8'];
if (availableParallelism() === 1) heap.push('--single-threaded-gc');

if (isNewEnough(process.version)) {
  if (process.argv[2] === 'serve') takeLittleMemory();
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

/**
 * Goes on in the same process with an allocator that gives back what large pushes have taken: a fifth less memory under
 * load. A young heap of half that size would take less again, but slow down whatever holds many small things for a moment.
 * Who sets MALLOC_ARENA_MAX has it as it is.
 */
function takeLittleMemory() {
  if (process.platform !== 'linux' || process.execve === undefined || process.env['MALLOC_ARENA_MAX'] !== undefined)
    return;
  // It is called experimental, which concerns nobody who starts a server.
  process.removeAllListeners('warning');
  const { argv, execArgv, execPath } = process;
  const args = [execPath, ...heap, ...execArgv, fileURLToPath(import.meta.url), ...argv.slice(2)];
  process.execve(execPath, args, { ...process.env, ...allocator });
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
