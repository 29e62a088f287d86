// Version 2 of the API: all of its routes under /api/v2.

import type { Services, TypedApp } from '../routes.ts';
import { registerActuators } from './actuators.ts';
import { registerAuth } from './auth.ts';
import { registerBulk } from './bulk.ts';
import { registerDatapoints } from './datapoints.ts';
import { registerDevices } from './devices.ts';
import { registerGateways } from './gateways.ts';
import { registerHistory } from './history.ts';
import { registerImports } from './imports.ts';
import { registerKeys } from './keys.ts';
import { registerKinds } from './kinds.ts';
import { registerLive } from './live.ts';
import { registerNotifications } from './notifications.ts';
import { registerPermissions } from './permissions.ts';
import { registerProjects } from './projects.ts';
import { registerRenewals } from './renewals.ts';
import { registerSensors } from './sensors.ts';
import { registerShares } from './shares.ts';
import { registerSocials } from './socials.ts';
import { registerUsers } from './users.ts';

export function registerV2(app: TypedApp, services: Services): void {
  registerAuth(app, services);
  registerPermissions(app, services);
  registerRenewals(app, services);
  registerKeys(app, services);
  registerUsers(app, services);
  registerDevices(app, services);
  registerShares(app, services);
  registerSensors(app, services);
  registerDatapoints(app, services);
  registerBulk(app, services);
  registerImports(app, services);
  registerHistory(app, services);
  registerLive(app, services);
  registerKinds(app);
  registerActuators(app, services);
  registerNotifications(app, services);
  registerSocials(app, services);
  registerGateways(app, services);
  registerProjects(app, services);
}
