// `dundun move --to postgres://…`, or a folder for the way back. Exit codes: 0 copied or moved, 1 refused, 2 the address is not right.
import { SettingFault } from '../base/setting-fault.ts';
import { postgresUrl } from '../config/postgres-url.ts';
import { moveData } from '../engines/open.ts';
import { Progress } from './progress.ts';
import { fail, readConfig } from './read-config.ts';

export async function move({ to }: { readonly to: string }): Promise<void> {
  const { dataDir, databaseUrl } = readConfig().config;
  const progress = new Progress();
  try {
    if (/^postgres(ql)?:/.test(to)) assertAddress(to);
    const { copied, moved } = await moveData({
      ...{ dataDir, databaseUrl, to },
      onStep: (step, done, all) => progress.show(step, done, all),
    });
    progress.end();
    const [from, start] =
      databaseUrl === undefined
        ? [dataDir, 'Start the service with DUNDUN_DATABASE_URL set to this database.']
        : ['the database', `Start the service with DUNDUN_DATA_DIR=${to}, and without DUNDUN_DATABASE_URL.`];
    if (moved === undefined)
      console.log(
        `Copied ${copied} blocks of datapoints of ${from} while the service runs. Now stop it, and run this again: what is left takes seconds.`,
      );
    else
      console.log(
        `Moved ${from}: ${moved.datapoints} datapoints of ${moved.sensors} sensors, read back and compared, and all records. ${start}`,
      );
  } catch (error) {
    progress.end();
    fail(error);
  }
}

/** @throws SettingFault */
function assertAddress(to: string): void {
  try {
    postgresUrl(to);
  } catch (error) {
    throw new SettingFault('--to', `the value given ${(error as Error).message}.`);
  }
}
