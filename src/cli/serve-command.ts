// `dundun serve`: start, say so, wait for a signal, stop within ten seconds.
import { limits } from '../config/limits.ts';
import { startServer } from '../server.ts';
import { fail, readConfig } from './read-config.ts';

export async function serve(): Promise<void> {
  const { config } = readConfig();
  const server = await startServer(config, {
    onFirstPassword: (password) =>
      console.error(
        `dundun: first start. Sign in as admin with the password ${password} (shown this once; change it with \`dundun user password admin\`).`,
      ),
  }).catch(fail);
  const stop = () => {
    // A second signal (npm passes Ctrl-C on as well) does not hurry a stop that is under way.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, () => {});
    const deadline = setTimeout(() => process.exit(1), limits.stopMsMax);
    deadline.unref();
    server.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  console.log(JSON.stringify({ msg: 'ready', ...server.ports }));
}
