// The same login again and again: clients in the field fetch a token before each call.
import type { BenchOptions } from '../arguments.ts';
import { takeTurns } from '../comparison.ts';
import { shown } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { HttpLoad } from '../load/http-load.ts';
import { summarise } from '../load/load.ts';
import { judge, roundsTable, type Section } from '../section.ts';

const perSMin = 5_000;

export async function measureLogins(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices: 1, sensorsEach: 1, profile: options.profile });
  try {
    const body = JSON.stringify(Fleet.login);
    const request = `POST /api/v2/auth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { connections } = options;
    const load = new HttpLoad({ port: fleet.server.httpPort, connections, next: () => request });
    const sides = [{ name: 'Dundun', server: fleet.server, load: (seconds: number) => load.run(seconds) }];
    const [ours] = await takeTurns('logins', sides, options);
    const rounds = summarise(ours?.measured ?? []);
    return {
      title: 'Repeated logins',
      how: `${connections} keep-alive connections, each with one \`POST /auth/token\` of the same user outstanding.`,
      tables: [roundsTable([{ name: 'Dundun', rounds }])],
      verdicts: [
        {
          target: `logins: ${shown(rounds.perS)}/s, target at least ${shown(perSMin)}/s`,
          outcome: judge(rounds.perS >= perSMin, [rounds]),
        },
      ],
      faults: [],
    };
  } finally {
    await fleet.server.stop();
  }
}
