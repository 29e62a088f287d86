// The texts of the reference around its operations, in /docs and /openapi.json.

/** Stands in the text for an address that the operator has not named; /docs puts the one by which it was reached there. */
export const addressUnknown = 'http://localhost:8080';

/** The text above the operations; `address` is the service's address. */
export const introduction = (address: string) => `Dundun keeps what your devices measure, and hands it out again.

> **An acknowledgement means stored.** A 2xx answer here, and a PUBACK over MQTT, goes out after the commit reached
> the disk. No answer, or an error? Send it again: with an \`Idempotency-Key\` a repeat stores nothing twice.

## First steps

All of this works without a token. What is created so belongs to \`guest\` and is public.

\`\`\`sh
API=${address}/api/v2
JSON='Content-Type: application/json'

# 1. A device with a sensor
curl $API/devices -H "$JSON" \\
  -d '{"id":"field-3","sensors":[{"id":"TC"}]}'

# 2. A value
curl $API/devices/field-3/sensors/TC/values \\
  -H "$JSON" -d '{"value": 21.5}'

# 3. What came in last
curl "$API/devices/field-3/sensors/TC/values?lastN=5"
\`\`\`

For devices of your own, ask for a token (\`POST /api/v2/auth/token\`) and send it with every call as
\`Authorization: Bearer <token>\`. Machines take an API key (\`POST /api/v2/auth/keys\`) in its place: it lasts, and may be
narrowed to some devices and rights.

## What holds everywhere

- **Bodies** are JSON in UTF-8. A single field is also taken as \`text/plain\` with the bare value. Unknown fields are
  ignored; a field without a value is left out, never \`null\`.
- **Writes** answer 204 without a body. With \`Prefer: return=representation\` a create answers 201 with the record.
- **Ids** are chosen by whoever creates the record: 1 to 256 printable ASCII characters without spaces and without
  \`& ? / # + < > " ' = ; ( )\`.
- **Times** are RFC 3339. In: any offset, none means UTC; also ISO 8601 without seconds, in its basic format, and a date alone.
  Out: UTC, to the millisecond.
- **Lists** take \`limit\` and \`offset\`; \`Link\` leads to the next page, \`X-Total-Count\` counts all.
- **Errors** are problem details (RFC 9457) that say what was wrong and what would be right.
- **Bounds** of a request: a body of 16 MiB where datapoints, devices, projects or files are sent, else 1 MiB, 30 000 datapoints, 64 KiB a value, 32 levels of nesting.

## MQTT

The same values travel over MQTT (3.1, 3.1.1 and 5.0): publish \`{"value": 21.5}\` to \`devices/field-3/sensors/TC/value\`, subscribe to
\`devices/field-3/sensors/+/value\`. Sign in with your username and password, or an API key in place of
the password; without them you are \`guest\`.

An actuator's values come on \`devices/field-3/actuators/valve-1/value\`. What was set while the gateway of the device was away, a
client under the gateway's id is given once when it subscribes, unless it is older than the actuator's \`valid_for\`. A device says that it
has taken a value by publishing to \`devices/field-3/actuators/valve-1/ack\`: nothing, or any JSON; \`{"value": true}\` says
which setting is meant.
`;

/** The groups of operations in their order; each tag of a route must be one of them. */
export const tags = [
  { name: 'Authentication', description: 'Tokens, and what a caller may do.' },
  { name: 'Users', description: 'Accounts: who they are, and their passwords.' },
  { name: 'API keys', description: 'Keys by which machines sign in, narrowed to what they need.' },
  { name: 'Devices', description: 'What stands in the field: a place, an owner, sensors and actuators.' },
  { name: 'Sensors', description: 'What a device measures: kind, quantity, unit, calibration.' },
  {
    name: 'Datapoints',
    description: 'The values: push them, import files of them, read them as JSON, CSV, NDJSON or Parquet.',
  },
  { name: 'Kinds', description: 'Words to choose from: kinds of sensors and actuators, quantities, units.' },
  { name: 'Actuators', description: 'Parts of a device that can be set, such as valves.' },
  { name: 'Alarms', description: 'What is wrong now and was, since when, and who is on it.' },
  { name: 'Notifications', description: 'Rules: what to send, or to set, when values meet a condition.' },
  { name: 'Messages', description: 'What notifications and people send: what waits, what went, what could not go.' },
  { name: 'Gateways', description: 'What carries readings to the service, and whether it is there.' },
  { name: 'MQTT', description: 'Who is connected over MQTT, and whose sessions are kept.' },
  { name: 'Projects', description: 'Devices and gateways that somebody looks at together.' },
  { name: 'Sharing', description: 'Letting chosen people see, change or feed a device.' },
  { name: 'Settings', description: 'What admins choose for the whole service, and the servers that it runs on.' },
  { name: 'Service', description: 'Whether the service lives and takes work, and its figures.' },
] as const;
