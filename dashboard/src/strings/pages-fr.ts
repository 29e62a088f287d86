// What the other pages say in French, which is loaded with the first of them.

import type { PageStrings } from './catalogue.ts';
import { clients } from './fr/clients.ts';
import { datapoints } from './fr/datapoints.ts';
import { device } from './fr/device.ts';
import { firstRun } from './fr/first-run.ts';
import { gateways } from './fr/gateways.ts';
import { imports } from './fr/imports.ts';
import { nodes } from './fr/nodes.ts';
import { notifications } from './fr/notifications.ts';
import { ownAccount } from './fr/own-account.ts';
import { person } from './fr/person.ts';
import { places } from './fr/places.ts';
import { profile } from './fr/profile.ts';
import { projects } from './fr/projects.ts';
import { quota } from './fr/quota.ts';
import { reasons } from './fr/reasons.ts';
import { received } from './fr/received.ts';
import { sensor } from './fr/sensor.ts';
import { signIn } from './fr/sign-in.ts';
import { signIns } from './fr/sign-ins.ts';
import { strangers } from './fr/strangers.ts';
import { users } from './fr/users.ts';

export const frPages: PageStrings = {
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
