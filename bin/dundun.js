#!/usr/bin/env node
// Starts src/main.ts on a Node.js that can run it: this one where it is new enough, so that no second process stays
// around, else the one that npm installed beside Dundun, else one clear line. Plain JavaScript for old Node.js.
import { spawn } from 'node:child_process';
import * as module from 'node:module';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { heapFlags } from './heap.js';
import { findPinnedNode, isNewEnough, refusal } from './runtime.js';

/** Of glibc: two pools, and what is larger than 128 KiB goes back when it is freed. */
const allocator = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

// A hangup ends no service (it has the certificate read anew), not even while its code is being loaded.
if (process.argv[2] === 'serve') process.on('SIGHUP', () => {});

/** Set where the flags and the allocator are as they should be, so that nobody goes round twice. */
const launchedMark = 'DUNDUN_LAUNCHER_DONE';

/** Set for a child of ours: the descriptor of a pipe that ends with its parent, whatever ended that. */
const parentPipe = 'DUNDUN_LAUNCHER_PIPE';

if (isNewEnough(process.version)) {
  if (process.argv[2] === 'serve') takeLittleMemory();
  endWithParent();
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
 * Who sets MALLOC_ARENA_MAX has the allocator as it is.
 */
function takeLittleMemory() {
  const isDone = process.env[launchedMark] !== undefined;
  delete process.env[launchedMark];
  if (isDone || process.platform !== 'linux' || process.execve === undefined) return;
  // It is called experimental, which concerns nobody who starts a server.
  process.removeAllListeners('warning');
  const { argv, execArgv, execPath } = process;
  const args = [execPath, ...heapFlags(process.env), ...execArgv, fileURLToPath(import.meta.url), ...argv.slice(2)];
  process.execve(execPath, args, launchedEnv());
}

/** @type {() => NodeJS.ProcessEnv} */
function launchedEnv() {
  const own = process.env['MALLOC_ARENA_MAX'] !== undefined;
  return { ...process.env, ...(own ? {} : allocator), [launchedMark]: '1' };
}

/** A parent that was killed could not pass a signal on: the child would go on holding ports and folder. */
function endWithParent() {
  const descriptor = Number(process.env[parentPipe]);
  delete process.env[parentPipe];
  if (!Number.isInteger(descriptor) || descriptor < 3) return;
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  pipe.on('error', () => {});
  // The orderly stop of the service; a verb of the command line ends as by Ctrl-C.
  pipe.on('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.resume().unref();
}

/** @type {(node: string) => void} */
function runOn(node) {
  // What takeLittleMemory would see to: it must not be needed there, because the pipe does not outlast its execve.
  const isServer = process.argv[2] === 'serve';
  const args = [...(isServer ? heapFlags(process.env) : []), fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...(isServer ? launchedEnv() : process.env), [parentPipe]: '3' },
  });
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`Cannot start ${node}: ${error.message}.`);
    process.exit(1);
  });
  // A child that a signal ended is reported the way shells do, as 128 and the number of the signal.
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGTERM']));
}
