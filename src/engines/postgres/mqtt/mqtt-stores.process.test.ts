// The suites of engines/shared/mqtt on PostgreSQL.
import { suite } from 'node:test';
import { withoutPostgres } from '../../../../test/support/postgres.ts';
import { mqttPersistenceSuite } from '../../shared/mqtt/mqtt-persistence.suite.ts';
import { mqttRetainedSuite } from '../../shared/mqtt/mqtt-retained.suite.ts';
import { storedSessionsSuite } from '../../shared/mqtt/sessions/mqtt-sessions.suite.ts';
import { postgres } from './postgres-runs.suite.ts';

suite('MQTT on PostgreSQL', { skip: withoutPostgres }, () => {
  mqttPersistenceSuite(postgres);
  storedSessionsSuite(postgres);
  mqttRetainedSuite(postgres);
});
