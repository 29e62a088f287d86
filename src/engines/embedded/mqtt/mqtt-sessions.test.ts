// The suite of engines/shared/mqtt on SQLite.
import { storedSessionsSuite } from '../../shared/mqtt/sessions/mqtt-sessions.suite.ts';
import { sqlite } from './sqlite-runs.suite.ts';

storedSessionsSuite(sqlite);
