// The suite of engines/shared/mqtt on SQLite.
import { mqttBrokerSuite } from '../../shared/mqtt/mqtt-broker.suite.ts';
import { sqlite } from './sqlite-runs.suite.ts';

mqttBrokerSuite(sqlite);
