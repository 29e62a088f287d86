// Shares of gateways and projects, and which devices projects name, so that a device’s rights are found by an index.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** Bits of domain/scopes.ts; those of devices count on devices of the record that have the same owner. */
const shareTable = (of: 'gateway' | 'project') => [
  `CREATE TABLE ${of}_share (
    record INTEGER NOT NULL REFERENCES ${of} (key) ON DELETE CASCADE,
    user INTEGER NOT NULL REFERENCES user (key) ON DELETE CASCADE,
    scopes INTEGER NOT NULL,
    given_by INTEGER REFERENCES user (key) ON DELETE SET NULL,
    PRIMARY KEY (record, user)) WITHOUT ROWID`,
  `CREATE INDEX ${of}_share_user ON ${of}_share (user)`,
];

/** A project whose list is damaged names nothing; `dundun check` tells of it. */
const idsOf = (row: 'new' | 'project') =>
  `json_each(CASE WHEN json_valid(${row}.device_ids) THEN ${row}.device_ids ELSE '[]' END) AS entry`;

const named = (row: 'new' | 'project') =>
  `INSERT INTO project_device (device_id, owner, project)
    SELECT DISTINCT entry.value, ${row}.owner, ${row}.key`;

const statements = [
  ...shareTable('gateway'),
  ...shareTable('project'),
  // The owner comes before the project: projects of strangers that name a device cost nothing when it is loaded.
  `CREATE TABLE project_device (
    device_id TEXT NOT NULL,
    owner INTEGER NOT NULL,
    project INTEGER NOT NULL REFERENCES project (key) ON DELETE CASCADE,
    PRIMARY KEY (device_id, owner, project)) WITHOUT ROWID`,
  'CREATE INDEX project_device_project ON project_device (project, device_id)',
  `${named('project')} FROM project, ${idsOf('project')}`,
  `CREATE TRIGGER project_device_added AFTER INSERT ON project BEGIN
    ${named('new')} FROM ${idsOf('new')}; END`,
  `CREATE TRIGGER project_device_changed AFTER UPDATE OF device_ids, owner ON project BEGIN
    DELETE FROM project_device WHERE project = old.key;
    ${named('new')} FROM ${idsOf('new')}; END`,
];
