// What the command line of the demo says, checked; and the help that explains it.
import { parseArgs } from 'node:util';

/** A server that is there already. */
export interface ServerAddress {
  readonly url: string;
  readonly mqtt: string;
  readonly user: string;
  readonly password: string;
}

export interface DemoOptions {
  /** Undefined: the demo starts a server of its own. */
  readonly server: ServerAddress | undefined;
  readonly fresh: boolean;
}

const help = `npm run demo -- [options]

Sends the readings of four real wireless motes (examples/motes, six hours of 10 July 2010) to a Dundun and reads them
back: mote-1 and mote-2 push arrays over REST, mote-3 and mote-4 publish over MQTT with QoS 1. 37 520 datapoints go in,
and the demo fails unless the same 37 520 come out.

Without options it starts a server of its own in a temporary folder and leaves nothing behind. To send to a server that
runs already, so that you can look around in it afterwards:

  --url http://localhost:8080     address of its HTTP
  --mqtt mqtt://localhost:1883    address of its MQTT
  --user admin                    account that will own the devices
  --password …                    its password; better in the variable DUNDUN_DEMO_PASSWORD, which others cannot see
  --fresh                         delete devices mote-1 to mote-4 with their datapoints first; without it the demo
                                  stops when one of them exists, and touches nothing
  --help

Examples:
  npm run demo
  npm run demo -- --url http://localhost:8080 --mqtt mqtt://localhost:1883 --user admin --password … --fresh

Afterwards, the last five temperatures of mote-3:
  TOKEN=$(curl -s http://localhost:8080/api/v2/auth/token -H 'content-type: application/json' \\
    -d '{"username": "admin", "password": "…"}')
  curl -H "Authorization: Bearer $TOKEN" \\
    'http://localhost:8080/api/v2/devices/mote-3/sensors/temperature/values?lastN=5'`;

export function parseOptions(args: readonly string[]): DemoOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      url: { type: 'string' },
      mqtt: { type: 'string' },
      user: { type: 'string' },
      password: { type: 'string' },
      fresh: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  const password = values.password ?? process.env['DUNDUN_DEMO_PASSWORD'];
  const { url, mqtt, user, fresh } = values;
  if (url === undefined && mqtt === undefined && user === undefined) return { server: undefined, fresh };
  if (url === undefined || mqtt === undefined || user === undefined || password === undefined)
    throw new Error('A server that runs already needs --url, --mqtt, --user and --password, all four.');
  return { server: { url: baseOf(url, 'http'), mqtt: baseOf(mqtt, 'mqtt'), user, password }, fresh };
}

function baseOf(text: string, scheme: 'http' | 'mqtt'): string {
  const url = URL.parse(text);
  const allowed = [`${scheme}:`, `${scheme}s:`];
  if (url === null || !allowed.includes(url.protocol))
    throw new Error(
      `--${scheme === 'http' ? 'url' : 'mqtt'} takes an address such as ${scheme}://localhost, not ${text}.`,
    );
  return text.replace(/\/+$/, '');
}
