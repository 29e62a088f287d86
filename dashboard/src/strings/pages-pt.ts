// What the other pages say in Portuguese, which is loaded with the first of them.

import type { PageStrings } from './catalogue.ts';
import { clients } from './pt/clients.ts';
import { datapoints } from './pt/datapoints.ts';
import { device } from './pt/device.ts';
import { firstRun } from './pt/first-run.ts';
import { gateways } from './pt/gateways.ts';
import { imports } from './pt/imports.ts';
import { nodes } from './pt/nodes.ts';
import { notifications } from './pt/notifications.ts';
import { ownAccount } from './pt/own-account.ts';
import { person } from './pt/person.ts';
import { places } from './pt/places.ts';
import { profile } from './pt/profile.ts';
import { projects } from './pt/projects.ts';
import { quota } from './pt/quota.ts';
import { reasons } from './pt/reasons.ts';
import { received } from './pt/received.ts';
import { sensor } from './pt/sensor.ts';
import { signIn } from './pt/sign-in.ts';
import { signIns } from './pt/sign-ins.ts';
import { strangers } from './pt/strangers.ts';
import { users } from './pt/users.ts';

export const ptPages: PageStrings = {
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
