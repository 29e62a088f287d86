// A setting that can be read, and turns out to be wrong when it is used: an address that leads nowhere, a password that is not taken. Thrown
// by whoever uses it; the command line ends with the exit code of settings that are not right.
import { Refusal } from './refusal.ts';

export class SettingFault extends Refusal {
  /** @param setting the name of the setting, or of the option of the command line that stands for it. */
  constructor(setting: string, message: string) {
    super('conflict', `${setting}: ${message}`);
  }
}
