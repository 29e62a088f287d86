// `dundun config`: every setting with its value, default and reason.
import { settings } from '../config/config.ts';
import { readConfig } from './read-config.ts';

export function printConfig(): void {
  const { env } = readConfig();
  for (const setting of Object.values(settings)) {
    const given = env[setting.env];
    const isSet = given !== undefined && given !== '';
    const value = isSet ? (setting.secret === true ? '(set)' : given) : setting.fallback;
    console.log(
      `# ${setting.reason}\n# default: ${setting.fallback === '' ? '(none)' : setting.fallback}\n${setting.env}=${value}\n`,
    );
  }
}
