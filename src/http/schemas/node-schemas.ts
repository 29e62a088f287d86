// Servers on the data (contract 3, issue 18). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { timestamp } from './field-schemas.ts';

const count = (description: string, example: number) => Type.Integer({ minimum: 0, description, examples: [example] });

const ConnectionsSchema = Type.Object(
  {
    http: count('Connections of HTTP, live streams among them.', 12),
    mqtt: count('Connections of MQTT, those over WebSocket among them.', 340),
  },
  { description: 'Connections of clients that are open; absent until the server has told of them.' },
);

const NodeSchema = Type.Object(
  {
    id: Type.String({
      maxLength: limits.idCharsMax,
      description: 'A name that the server has from its start to its end, and no longer.',
      examples: ['0b7f4a52-6a0e-4a86-9b0c-2f1f6f6a3d11'],
    }),
    answering: Type.Boolean({ description: 'True for the server that gave this answer.', examples: [true] }),
    host: Type.Optional(
      Type.String({
        maxLength: limits.nameCharsMax,
        description:
          'The name of its machine or container, and the port on which it listens for HTTP; absent until the server has told it.',
        examples: ['field-1:8080'],
      }),
    ),
    release: Type.Optional(
      Type.String({
        maxLength: limits.wordCharsMax,
        description: 'The release that it runs; absent until the server has told it.',
        examples: ['0.1.0'],
      }),
    ),
    started: timestamp('When it started, UTC; where servers share a database, by its clock.'),
    last_seen: timestamp('Its last sign of life, UTC; where servers share a database, by its clock.'),
    alive: Type.Boolean({
      description: `False where its last sign of life is ${limits.nodeDeadMs / 1000} seconds ago or more, so that others may take its work over; it leaves this list when they have.`,
      examples: [true],
    }),
    behind: Type.Object(
      {
        datapoints: count('Datapoints that others have stored and that it has not read yet.', 0),
        changes: count('Changes by others (rights, rules, devices) that it has not heard of yet.', 0),
      },
      { description: 'How far it is behind the others.' },
    ),
    leases: Type.Array(
      Type.String({ maxLength: limits.nameCharsMax, description: 'The name of a lease.', examples: ['outbox'] }),
      {
        maxItems: limits.nodeLeasesShown,
        description:
          'Work that one server does for all: `rules/0` (evaluating notifications), `outbox` (sending messages), `alarms`, `retention` (deleting what is too old), `sealing` (compressing), `edits` (removing and correcting datapoints).',
        examples: [['outbox', 'rules/0']],
      },
    ),
    connections: Type.Optional(ConnectionsSchema),
    datapoints_per_second: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          'Datapoints a second that came to it and that it has stored, over the last minute; absent until the server has told it.',
        examples: [16.7],
      }),
    ),
  },
  { title: 'Node', description: 'A server that uses the data.' },
);

export const NodesSchema = Type.Object(
  {
    shared: Type.Boolean({
      description:
        'True where the data are in a PostgreSQL database, which several servers may use; false where they are in a folder, which one server uses.',
      examples: [true],
    }),
    nodes: Type.Array(NodeSchema, {
      maxItems: limits.serversMax,
      description: `The servers, in the order in which they started; the first ${limits.serversMax}.`,
    }),
  },
  { title: 'Nodes', description: 'The servers that use the data.' },
);
