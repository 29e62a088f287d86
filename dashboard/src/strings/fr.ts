// The French catalogue, a file for each noun: what the shell and the first pages say; loaded when French is chosen.

import type { FirstStrings } from './catalogue.ts';
import { devices } from './fr/devices.ts';
import { faults } from './fr/faults.ts';
import { now } from './fr/now.ts';
import { shared } from './fr/shared.ts';
import { shell } from './fr/shell.ts';

export const fr: FirstStrings = {
  devices,
  faults,
  now,
  shared,
  shell,
};
