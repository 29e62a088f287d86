// Every normative statement of MQTT 5 stands either in a row of the tables of this folder or here, with the reason why
// no test at the door of a server can hold it. A statement that is in neither, or in both, fails.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** How many statements the sections of Appendix B have: `3.1.2: 30` for [MQTT-3.1.2-1] to [MQTT-3.1.2-30]. */
const sections: Readonly<Record<string, number>> = {
  '1.5.4': 3,
  '1.5.5': 1,
  '1.5.7': 1,
  '2.1.3': 1,
  '2.2.1': 6,
  '2.2.2': 1,
  '3.1.0': 2,
  '3.1.2': 30,
  '3.1.3': 12,
  '3.1.4': 6,
  '3.2.0': 2,
  '3.2.2': 22,
  '3.3.1': 13,
  '3.3.2': 20,
  '3.3.4': 10,
  '3.4.2': 3,
  '3.5.2': 3,
  '3.6.1': 1,
  '3.6.2': 3,
  '3.7.2': 3,
  '3.8.1': 1,
  '3.8.3': 5,
  '3.8.4': 8,
  '3.9.2': 2,
  '3.9.3': 2,
  '3.10.1': 1,
  '3.10.3': 2,
  '3.10.4': 6,
  '3.11.2': 2,
  '3.11.3': 2,
  '3.12.4': 1,
  '3.14.0': 1,
  '3.14.1': 1,
  '3.14.2': 4,
  '3.14.4': 3,
  '3.15.1': 1,
  '3.15.2': 3,
  '4.1.0': 2,
  '4.2.0': 1,
  '4.3.1': 1,
  '4.3.2': 5,
  '4.3.3': 13,
  '4.4.0': 2,
  '4.5.0': 2,
  '4.6.0': 6,
  '4.7.0': 1,
  '4.7.1': 2,
  '4.7.2': 1,
  '4.7.3': 4,
  '4.8.2': 6,
  '4.9.0': 3,
  '4.12.0': 7,
  '4.12.1': 2,
  '4.13.1': 1,
  '4.13.2': 1,
  '6.0.0': 4,
};

const ofClients = 'it binds the client';
const noUserProperties = 'the server sends no User Properties of its own';
const leftOut: Readonly<Record<string, string>> = {
  '2.2.1-1': 'the specification has no statement of this number',
  '2.2.1-5': 'PacketClient looks at it in each answer',
  '3.1.2-20': ofClients,
  '3.1.2-21': ofClients,
  '3.1.2-30': ofClients,
  '3.1.3-1': 'an order of fields that is not kept is another CONNECT, lawful or not: the rows of 3.1.4-1',
  '3.1.3-4': 'the rows of 1.5.4-1 and 1.5.4-2 for client ids',
  '3.1.3-11': 'the rows of 1.5.4-1 and 1.5.4-2 for topics of wills',
  '3.1.3-12': 'the rows of 1.5.4-1 and 1.5.4-2 for user names',
  '3.1.4-2': 'the rows of CONNACK in reason-codes.test.ts that name 3.2.2-7',
  '3.2.0-2': 'each client of the tests fails at a packet that nobody waits for, a second CONNACK too',
  '3.2.2-4': ofClients,
  '3.2.2-5': ofClients,
  '3.2.2-8': 'each row that is refused names the code it expects',
  '3.2.2-10': 'the server takes all of QoS',
  '3.2.2-11': ofClients,
  '3.2.2-12': 'the server takes all of QoS',
  '3.2.2-13': 'the server retains',
  '3.2.2-14': ofClients,
  '3.2.2-15': ofClients,
  '3.2.2-18': ofClients,
  '3.2.2-21': ofClients,
  '3.3.2-1': 'the rows of 1.5.4-1 and 1.5.4-2 for topics',
  '3.3.4-5': 'the server sends one copy: 3.3.4-4',
  '3.3.4-8': ofClients,
  '3.4.2-3': noUserProperties,
  '3.5.2-3': noUserProperties,
  '3.6.2-2': 'the server gives no reason string in PUBREL',
  '3.6.2-3': noUserProperties,
  '3.7.2-2': 'the server gives no reason string in PUBCOMP',
  '3.7.2-3': noUserProperties,
  '3.9.2-1':
    'a client that takes fewer bytes than a SUBACK without words has no answer: reason strings of it are bounded like those of PUBACK',
  '3.9.2-2': noUserProperties,
  '3.11.2-1': 'as 3.9.2-1',
  '3.11.2-2': noUserProperties,
  '3.14.2-4': noUserProperties,
  '3.15.2-2': 'the server sends no AUTH: it offers no enhanced authentication',
  '3.15.2-3': 'the server sends no AUTH: it offers no enhanced authentication',
  '4.2.0-1': 'every test holds it: TCP, and WebSocket over it',
  '4.3.2-1': ofClients,
  '4.3.3-1': ofClients,
  '4.5.0-2': ofClients,
  '4.6.0-4': 'it binds the client; the server answers PUBREC by PUBREC',
  '4.7.3-2': 'the rows of 1.5.4-2 for topics and filters',
  '4.7.3-3': 'the two bytes of a length hold no more',
  '4.12.0-2': 'the server sends no AUTH: it offers no enhanced authentication',
  '4.12.0-3': ofClients,
  '4.12.0-4': 'the server refuses at once: 4.12.0-1',
  '4.12.0-5': 'the server accepts no method',
  '4.12.1-2': 'the server accepts no method, so there is nothing to authenticate anew',
};

test('each normative statement has a row, or a reason why it has none', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const found = new Set<string>();
  for (const file of readdirSync(folder)) {
    if (file === 'left-out.test.ts') continue;
    for (const [, number = ''] of readFileSync(`${folder}/${file}`, 'utf8').matchAll(
      /(\d\.\d+\.\d+-\d+(?:, -\d+)*)/g,
    )) {
      const [first = '', ...more] = number.split(', ');
      found.add(first);
      for (const end of more) found.add(`${first.replace(/-\d+$/, '')}${end}`);
    }
  }
  const all = Object.entries(sections).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, n) => `${section}-${n + 1}`),
  );
  assert.deepEqual(
    all.filter((number) => !found.has(number) && leftOut[number] === undefined),
    [],
    'in neither',
  );
  assert.deepEqual(
    Object.keys(leftOut).filter((number) => found.has(number)),
    [],
    'in both',
  );
  assert.deepEqual(
    [...found].filter((number) => !all.includes(number)),
    [],
    'of no statement',
  );
});
