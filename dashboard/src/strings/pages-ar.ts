// What the other pages say in Arabic, which is loaded with the first of them.

import { clients } from './ar/clients.ts';
import { datapoints } from './ar/datapoints.ts';
import { device } from './ar/device.ts';
import { firstRun } from './ar/first-run.ts';
import { gateways } from './ar/gateways.ts';
import { imports } from './ar/imports.ts';
import { nodes } from './ar/nodes.ts';
import { notifications } from './ar/notifications.ts';
import { ownAccount } from './ar/own-account.ts';
import { person } from './ar/person.ts';
import { places } from './ar/places.ts';
import { profile } from './ar/profile.ts';
import { projects } from './ar/projects.ts';
import { quota } from './ar/quota.ts';
import { reasons } from './ar/reasons.ts';
import { received } from './ar/received.ts';
import { sensor } from './ar/sensor.ts';
import { signIn } from './ar/sign-in.ts';
import { signIns } from './ar/sign-ins.ts';
import { strangers } from './ar/strangers.ts';
import { users } from './ar/users.ts';
import type { PageStrings } from './catalogue.ts';

export const arPages: PageStrings = {
  clients,
  datapoints,
  device,
  firstRun,
  gateways,
  imports,
  nodes,
  notifications,
  ownAccount,
  person,
  places,
  profile,
  projects,
  quota,
  reasons,
  received,
  sensor,
  signIn,
  signIns,
  strangers,
  users,
};
