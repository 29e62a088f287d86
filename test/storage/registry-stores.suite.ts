// What every engine must do alike with the registry: the suites of its stores, a noun each. Run on each engine by
// engines.test.ts.
import type { EngineKind } from './engines.ts';
import { accountLinksSuite } from './registry/account-links.suite.ts';
import { keysSuite, refreshSessionsSuite, settingsSuite } from './registry/accounts.suite.ts';
import { actuatorSettingsSuite } from './registry/actuator-settings.suite.ts';
import { devicePartsSuite } from './registry/device-parts.suite.ts';
import { devicesSuite } from './registry/devices.suite.ts';
import { gatewaysSuite, projectsSuite } from './registry/gateways-projects.suite.ts';
import { filtersSuite, listsSuite } from './registry/lists.suite.ts';
import { messagesSuite } from './registry/messages.suite.ts';
import { notificationsSuite, watchSuite } from './registry/notifications.suite.ts';
import { quotasSuite } from './registry/quotas.suite.ts';
import { recordSharesSuite } from './registry/record-shares.suite.ts';
import { handoversSuite, sharesSuite } from './registry/shares.suite.ts';
import { lastAdminSuite, userRemovalSuite, usersSuite } from './registry/users.suite.ts';
import { walksSuite } from './registry/walks.suite.ts';

export function registryStoresSuite(engine: EngineKind): void {
  usersSuite(engine);
  userRemovalSuite(engine);
  lastAdminSuite(engine);
  keysSuite(engine);
  refreshSessionsSuite(engine);
  accountLinksSuite(engine);
  settingsSuite(engine);
  devicesSuite(engine);
  devicePartsSuite(engine);
  actuatorSettingsSuite(engine);
  listsSuite(engine);
  filtersSuite(engine);
  sharesSuite(engine);
  handoversSuite(engine);
  gatewaysSuite(engine);
  projectsSuite(engine);
  recordSharesSuite(engine);
  notificationsSuite(engine);
  watchSuite(engine);
  messagesSuite(engine);
  quotasSuite(engine);
  walksSuite(engine);
}
