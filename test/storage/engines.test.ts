// Runs the suite of each port on every engine; that of Maintenance is in engines-maintenance.test.ts, because it takes longer.
import { commitLogSuite } from './commit-log.suite.ts';
import { coordinationSuite } from './coordination.suite.ts';
import { engines, enginesByShard } from './engines.ts';
import { mqttSessionsSuite } from './mqtt-sessions.suite.ts';
import { nodesSuite } from './nodes.suite.ts';
import { registryStoresSuite } from './registry-stores.suite.ts';
import { seriesSuite } from './series.suite.ts';
import { seriesEditsSuite } from './series-edits.suite.ts';

for (const engine of enginesByShard) {
  commitLogSuite(engine);
  seriesSuite(engine);
  seriesEditsSuite(engine);
}
for (const engine of engines) {
  mqttSessionsSuite(engine);
  coordinationSuite(engine);
  nodesSuite(engine);
  registryStoresSuite(engine);
}
