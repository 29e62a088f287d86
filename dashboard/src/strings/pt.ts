// The Portuguese catalogue, a file for each noun: what the shell and the first pages say; loaded when Portuguese is chosen. Nobody has read it yet who grew up with the language.

import type { FirstStrings } from './catalogue.ts';
import { devices } from './pt/devices.ts';
import { faults } from './pt/faults.ts';
import { now } from './pt/now.ts';
import { shared } from './pt/shared.ts';
import { shell } from './pt/shell.ts';

export const pt: FirstStrings = {
  devices,
  faults,
  now,
  shared,
  shell,
};
