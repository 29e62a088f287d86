// The Swahili catalogue, a file for each noun: what the shell and the first pages say; loaded when Swahili is chosen. Nobody has read it yet who grew up with the language.

import type { FirstStrings } from './catalogue.ts';
import { devices } from './sw/devices.ts';
import { faults } from './sw/faults.ts';
import { now } from './sw/now.ts';
import { shared } from './sw/shared.ts';
import { shell } from './sw/shell.ts';

export const sw: FirstStrings = {
  devices,
  faults,
  now,
  shared,
  shell,
};
