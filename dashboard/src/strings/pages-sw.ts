// What the other pages say in Swahili, which is loaded with the first of them.

import type { PageStrings } from './catalogue.ts';
import { clients } from './sw/clients.ts';
import { datapoints } from './sw/datapoints.ts';
import { device } from './sw/device.ts';
import { firstRun } from './sw/first-run.ts';
import { gateways } from './sw/gateways.ts';
import { imports } from './sw/imports.ts';
import { nodes } from './sw/nodes.ts';
import { notifications } from './sw/notifications.ts';
import { ownAccount } from './sw/own-account.ts';
import { person } from './sw/person.ts';
import { places } from './sw/places.ts';
import { profile } from './sw/profile.ts';
import { projects } from './sw/projects.ts';
import { quota } from './sw/quota.ts';
import { reasons } from './sw/reasons.ts';
import { received } from './sw/received.ts';
import { sensor } from './sw/sensor.ts';
import { signIn } from './sw/sign-in.ts';
import { signIns } from './sw/sign-ins.ts';
import { strangers } from './sw/strangers.ts';
import { users } from './sw/users.ts';

export const swPages: PageStrings = {
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
