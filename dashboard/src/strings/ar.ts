// The Arabic catalogue, a file for each noun: what the shell and the first pages say; loaded when Arabic is chosen. Nobody has read it yet who grew up with the language.

import { devices } from './ar/devices.ts';
import { faults } from './ar/faults.ts';
import { now } from './ar/now.ts';
import { shared } from './ar/shared.ts';
import { shell } from './ar/shell.ts';
import type { FirstStrings } from './catalogue.ts';

export const ar: FirstStrings = {
  devices,
  faults,
  now,
  shared,
  shell,
};
