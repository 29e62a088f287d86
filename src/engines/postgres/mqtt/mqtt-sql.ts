// The statements that store changes of MQTT state. Each takes all changes of its kind in a unit as arrays (parameter-arrays.ts).
import { clearRowsMax, retained, retainedPageRows } from '../../shared/mqtt/mqtt-tables.ts';
import { packetArrays } from './parameter-arrays.ts';

export const allAway = 'UPDATE mqtt_session SET away = $2 WHERE node = $1 AND away IS NULL';

export const putSessions = `INSERT INTO mqtt_session (key, node, client_id, "user", away, expiry, format)
  SELECT x.key, $1::bigint, x.client_id, x."user", x.away, x.expiry, $7::integer
  FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS x (key, client_id, "user", away, expiry)
  ON CONFLICT (key) DO UPDATE SET
    node = excluded.node, client_id = excluded.client_id, "user" = excluded."user", away = excluded.away,
    expiry = excluded.expiry, format = excluded.format`;

export const putAway = `UPDATE mqtt_session SET away = x.away FROM unnest($1::bigint[], $2::bigint[]) AS x (key, away)
  WHERE mqtt_session.key = x.key`;

export const putFilters = `INSERT INTO mqtt_subscription (session, filter, qos, options)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::text[])
  ON CONFLICT (session, filter) DO UPDATE SET qos = excluded.qos, options = excluded.options`;

export const removeFilters = `DELETE FROM mqtt_subscription USING unnest($1::bigint[], $2::text[]) AS x (session, filter)
  WHERE mqtt_subscription.session = x.session AND mqtt_subscription.filter = x.filter`;

/** Filters that are longer than is allowed now, some at a time. */
export const clearOverlong = `DELETE FROM mqtt_subscription WHERE (session, filter) IN (
  SELECT session, filter FROM mqtt_subscription JOIN mqtt_session ON mqtt_session.key = session
  WHERE node = $1 AND octet_length(filter) > $2 LIMIT ${clearRowsMax})`;

const { unnest, names, payload, rest } = packetArrays;

export const putMessages = `INSERT INTO mqtt_message (node, id, topic, payload, rest)
  SELECT $5::bigint, x.id, x.topic, ${payload}, ${rest}
  FROM unnest(${unnest}, $6::bigint[], $7::text[]) AS x (${names}, id, topic)`;

export const putQueue = `INSERT INTO mqtt_queue (node, session, message, qos, bytes)
  SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[]) AS x`;

const ofQueue = 'mqtt_queue.session = x.session AND mqtt_queue.message = x.message';
const changed = 'RETURNING mqtt_queue.session, mqtt_queue.message';

export const updateSent = `UPDATE mqtt_queue SET packet_id = x.packet_id
  FROM unnest($1::bigint[], $2::bigint[], $3::integer[]) AS x (session, message, packet_id) WHERE ${ofQueue} ${changed}`;

export const updateReleased = `UPDATE mqtt_queue SET released = true
  FROM unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} ${changed}`;

export const deleteAcknowledged = `DELETE FROM mqtt_queue
  USING unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} ${changed}`;

export const deleteDropped = `DELETE FROM mqtt_queue
  USING unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} AND packet_id IS NULL ${changed}`;

export const clearQueue = `DELETE FROM mqtt_queue WHERE session = $1 AND message IN (
  SELECT message FROM mqtt_queue WHERE session = $1 ORDER BY message LIMIT ${clearRowsMax})`;

export const endSessions = `WITH ended AS (DELETE FROM mqtt_session WHERE key = ANY ($1::bigint[])),
  filters AS (DELETE FROM mqtt_subscription WHERE session = ANY ($1::bigint[])),
  incoming AS (DELETE FROM mqtt_incoming WHERE session = ANY ($1::bigint[])),
  slice AS (
    SELECT x.session, first.message FROM unnest($1::bigint[]) AS x (session) CROSS JOIN LATERAL (
      SELECT message FROM mqtt_queue WHERE mqtt_queue.session = x.session ORDER BY message LIMIT ${clearRowsMax}) AS first),
  gone AS (DELETE FROM mqtt_queue USING slice AS x WHERE ${ofQueue} RETURNING mqtt_queue.session)
  SELECT session, count(*) AS n FROM gone GROUP BY session`;

export const putIncoming = `INSERT INTO mqtt_incoming (session, packet_id, topic, qos, retain, payload, rest)
  SELECT x.session, x.packet_id, x.topic, x.qos, x.retain, ${payload}, ${rest}
  FROM unnest(${unnest}, $5::bigint[], $6::integer[], $7::text[], $8::smallint[], $9::boolean[])
    AS x (${names}, session, packet_id, topic, qos, retain)
  ON CONFLICT (session, packet_id) DO UPDATE SET topic = excluded.topic, qos = excluded.qos, retain = excluded.retain,
    payload = excluded.payload, rest = excluded.rest`;

export const removeIncoming = `DELETE FROM mqtt_incoming USING unnest($1::bigint[], $2::integer[]) AS x (session, packet_id)
  WHERE mqtt_incoming.session = x.session AND mqtt_incoming.packet_id = x.packet_id`;

export const putWills = `INSERT INTO mqtt_will (client_id, broker_id, "user", topic, qos, retain, payload, rest)
  SELECT x.client_id, x.broker_id, x."user", x.topic, x.qos, x.retain, ${payload}, ${rest}
  FROM unnest(${unnest}, $5::text[], $6::text[], $7::bigint[], $8::text[], $9::smallint[], $10::boolean[])
    AS x (${names}, client_id, broker_id, "user", topic, qos, retain)
  ON CONFLICT (client_id, broker_id) DO UPDATE SET "user" = excluded."user", topic = excluded.topic, qos = excluded.qos,
    retain = excluded.retain, payload = excluded.payload, rest = excluded.rest`;

export const removeWills = `DELETE FROM mqtt_will USING unnest($1::text[], $2::text[]) AS x (client_id, broker_id)
  WHERE mqtt_will.client_id = x.client_id AND mqtt_will.broker_id = x.broker_id`;

const retainedRows = `unnest(${unnest}, $5::text[], $6::smallint[], $7::bigint[], $8::integer[])
  AS x (${names}, topic, qos, "user", extra)`;

// xmax is 0 in a row that is new. In the order of topics, so that two processes do not wait for each other.
export const putRetained = `INSERT INTO mqtt_retained (topic, qos, "user", extra, payload, rest)
  SELECT x.topic, x.qos, x."user", x.extra, ${payload}, ${rest} FROM ${retainedRows} ORDER BY x.topic COLLATE "C"
  ON CONFLICT (topic) DO UPDATE SET qos = excluded.qos, "user" = excluded."user",
    extra = excluded.extra, payload = excluded.payload, rest = excluded.rest
  RETURNING topic, CASE WHEN xmax = 0 THEN ${retained.added} ELSE ${retained.replaced} END AS outcome`;

export const updateRetained = `UPDATE mqtt_retained SET qos = x.qos, "user" = x."user", extra = x.extra, payload = ${payload}, rest = ${rest}
  FROM ${retainedRows} WHERE mqtt_retained.topic = x.topic RETURNING mqtt_retained.topic, ${retained.replaced} AS outcome`;

/** A removal counts as one row. */
export const removeRetained = 'DELETE FROM mqtt_retained WHERE topic = ANY ($1::text[]) RETURNING topic, 1 AS outcome';

export const clearRetained = `DELETE FROM mqtt_retained WHERE topic IN (
  SELECT topic FROM mqtt_retained WHERE "user" = $1 AND topic >= $2 AND topic < $3 LIMIT ${retainedPageRows})`;

export const putUsage = `INSERT INTO mqtt_usage (node, "user", mqtt_sessions, mqtt_session_bytes)
  SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS x ("user", sessions, bytes)
  WHERE EXISTS (SELECT 1 FROM "user" WHERE "user".key = x."user")
  ON CONFLICT (node, "user") DO UPDATE SET
    mqtt_sessions = excluded.mqtt_sessions, mqtt_session_bytes = excluded.mqtt_session_bytes`;
