// Reads the settings for a command-line verb. Prints all faults at once on standard error and exits with code 2.
import { SettingFault } from '../base/setting-fault.ts';
import { type Config, ConfigError, parseConfig, unknownSettings } from '../config/config.ts';
import { type Env, readEnv } from '../config/env.ts';

export function readConfig(alsoCheck: (config: Config) => readonly string[] = () => []): {
  readonly config: Config;
  readonly env: Env;
} {
  try {
    const env = readEnv(process.env);
    const config = parseConfig(env);
    const faults = alsoCheck(config);
    if (faults.length > 0) throw new ConfigError(faults);
    for (const name of unknownSettings(env)) {
      console.error(`dundun: there is no setting ${name}; it does nothing. \`dundun config\` lists the settings.`);
    }
    return { config, env };
  } catch (error) {
    const faults = error instanceof ConfigError ? error.faults : [(error as Error).message];
    console.error(`dundun: the settings are not right.\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    process.exit(2);
  }
}

/** Ends the process with a clear line instead of a stack trace. A setting that turned out to be wrong has the exit code of such ones. */
export function fail(error: unknown, code = 1): never {
  console.error(`dundun: ${reasonOf(error)}`);
  process.exit(error instanceof SettingFault ? 2 : code);
}

/** The message of an error, followed by that of its cause. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
}
