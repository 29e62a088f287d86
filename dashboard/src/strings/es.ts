// The Spanish catalogue, a file for each noun: what the shell and the first pages say; loaded when Spanish is chosen. Nobody has read it yet who grew up with the language.

import type { FirstStrings } from './catalogue.ts';
import { devices } from './es/devices.ts';
import { faults } from './es/faults.ts';
import { now } from './es/now.ts';
import { shared } from './es/shared.ts';
import { shell } from './es/shell.ts';

export const es: FirstStrings = {
  devices,
  faults,
  now,
  shared,
  shell,
};
