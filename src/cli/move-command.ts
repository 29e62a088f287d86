// `dundun move --to postgres://…`. Exit codes: 0 copied or moved, 1 refused.
import { moveData } from '../engines/open.ts';
import { Progress } from './progress.ts';
import { fail, readConfig } from './read-config.ts';

export async function move({ to }: { readonly to: string }): Promise<void> {
  const { dataDir: folder, databaseUrl } = readConfig().config;
  const progress = new Progress();
  try {
    if (databaseUrl !== undefined)
      throw new Error('The data are in a database already (DUNDUN_DATABASE_URL). Only a folder can be moved.');
    const { copied, moved } = await moveData({
      folder,
      to,
      onStep: (step, done, all) => progress.show(step, done, all),
    });
    progress.end();
    if (moved === undefined)
      console.log(
        `Copied ${copied} blocks of datapoints of ${folder} while the service runs. Now stop it, and run this again: what is left takes seconds.`,
      );
    else
      console.log(
        `Moved ${folder}: ${moved.datapoints} datapoints of ${moved.sensors} sensors, read back and compared, and all records. Start the service with DUNDUN_DATABASE_URL set to this database.`,
      );
  } catch (error) {
    progress.end();
    fail(error);
  }
}
