// The suite of engines/shared/mqtt on SQLite.
import { mqttPersistenceSuite } from '../../shared/mqtt/mqtt-persistence.suite.ts';
import { sqlite } from './sqlite-runs.suite.ts';

mqttPersistenceSuite(sqlite);
