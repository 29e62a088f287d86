// What the other pages say in Spanish, which is loaded with the first of them.

import type { PageStrings } from './catalogue.ts';
import { clients } from './es/clients.ts';
import { datapoints } from './es/datapoints.ts';
import { device } from './es/device.ts';
import { firstRun } from './es/first-run.ts';
import { gateways } from './es/gateways.ts';
import { imports } from './es/imports.ts';
import { nodes } from './es/nodes.ts';
import { notifications } from './es/notifications.ts';
import { ownAccount } from './es/own-account.ts';
import { person } from './es/person.ts';
import { places } from './es/places.ts';
import { profile } from './es/profile.ts';
import { projects } from './es/projects.ts';
import { quota } from './es/quota.ts';
import { reasons } from './es/reasons.ts';
import { received } from './es/received.ts';
import { sensor } from './es/sensor.ts';
import { signIn } from './es/sign-in.ts';
import { signIns } from './es/sign-ins.ts';
import { strangers } from './es/strangers.ts';
import { users } from './es/users.ts';

export const esPages: PageStrings = {
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
