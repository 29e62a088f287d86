// Version 2 of the API: all of its routes under /api/v2.

import type { TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { registerAuth } from './accounts/auth.ts';
import { registerKeys } from './accounts/keys.ts';
import { registerQuotas } from './accounts/quotas.ts';
import { registerRefreshSessions } from './accounts/refresh-sessions.ts';
import { registerSignIns } from './accounts/sign-ins.ts';
import { registerSocials } from './accounts/socials.ts';
import { registerUsers } from './accounts/users.ts';
import { registerActuators } from './actuators.ts';
import { registerBulk } from './datapoints/bulk.ts';
import { registerCorrections } from './datapoints/corrections.ts';
import { registerDatapoints } from './datapoints/datapoints.ts';
import { registerFuture } from './datapoints/future.ts';
import { registerHistory } from './datapoints/history.ts';
import { registerImports } from './datapoints/imports.ts';
import { registerLive } from './datapoints/live.ts';
import { registerReceived } from './datapoints/received.ts';
import { registerDevices } from './devices.ts';
import { registerGateways } from './gateways.ts';
import { registerKinds } from './kinds.ts';
import { registerNotifications } from './notifications.ts';
import { registerPermissions } from './permissions.ts';
import { registerProjects } from './projects.ts';
import { registerSensors } from './sensors.ts';
import { registerSettings } from './settings.ts';
import { registerRecordShares, registerShares } from './shares.ts';

export function registerV2(app: TypedApp, services: Services): void {
  registerAuth(app, services);
  registerPermissions(app, services);
  registerRefreshSessions(app, services);
  registerKeys(app, services);
  registerUsers(app, services);
  registerQuotas(app, services);
  registerSignIns(app, services);
  registerReceived(app, services);
  registerDevices(app, services);
  registerShares(app, services);
  registerSensors(app, services);
  registerDatapoints(app, services);
  registerBulk(app, services);
  registerImports(app, services);
  registerHistory(app, services);
  registerCorrections(app, services);
  registerFuture(app, services);
  registerLive(app, services);
  registerKinds(app);
  registerActuators(app, services);
  registerNotifications(app, services);
  registerSocials(app, services);
  registerGateways(app, services);
  registerProjects(app, services);
  registerRecordShares(app, services);
  registerSettings(app, services);
}
