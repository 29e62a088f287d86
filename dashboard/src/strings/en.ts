// The English catalogue, a file for each noun: what the shell and the first pages say. It says which strings there are: catalogue.ts
// takes its types from here and from pages-en.ts, and the other languages fail to compile where they lack one.

import { devices } from './en/devices.ts';
import { faults } from './en/faults.ts';
import { now } from './en/now.ts';
import { shared } from './en/shared.ts';
import { shell } from './en/shell.ts';

export const en = {
  devices,
  faults,
  now,
  shared,
  shell,
};
