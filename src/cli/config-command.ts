// `dundun config`: every setting with its value, default and reason, as a file that DUNDUN_CONFIG can name.
import { settings } from '../config/config.ts';
import { readConfig } from './read-config.ts';

export function printConfig(): void {
  const { env } = readConfig();
  for (const setting of Object.values(settings)) {
    const given = env[setting.env];
    const isSet = given !== undefined && given !== '';
    const value = isSet ? (setting.secret === true ? '(set)' : quoted(given)) : setting.fallback;
    console.log(
      `# ${setting.reason}\n# default: ${setting.fallback === '' ? '(none)' : setting.fallback}\n${setting.env}=${value}\n`,
    );
  }
}

/**
 * Quotes a value that contains `#` or a quote, or has spaces around it, with a kind of quote that it does not
 * contain.
 */
function quoted(value: string): string {
  if (!/[#'"`\n]|^\s|\s$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((mark) => !value.includes(mark)) ?? '';
  return `${quote}${value}${quote}`;
}
