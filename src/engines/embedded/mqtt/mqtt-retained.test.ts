// The suite of engines/shared/mqtt on SQLite.
import { mqttRetainedSuite } from '../../shared/mqtt/mqtt-retained.suite.ts';
import { sqlite } from './sqlite-runs.suite.ts';

mqttRetainedSuite(sqlite);
