// Runs the suite of Maintenance on every engine: backups, restores and checks of whole folders.
import { engines } from './engines.ts';
import { maintenanceSuite } from './maintenance.suite.ts';

for (const { maintenance, ...engine } of engines) {
  if (maintenance !== undefined) maintenanceSuite({ ...engine, maintenance });
}
