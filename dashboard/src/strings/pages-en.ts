// What the other pages say in English, which is loaded with the first of them.

import { clients } from './en/clients.ts';
import { datapoints } from './en/datapoints.ts';
import { device } from './en/device.ts';
import { firstRun } from './en/first-run.ts';
import { gateways } from './en/gateways.ts';
import { imports } from './en/imports.ts';
import { nodes } from './en/nodes.ts';
import { notifications } from './en/notifications.ts';
import { ownAccount } from './en/own-account.ts';
import { person } from './en/person.ts';
import { places } from './en/places.ts';
import { profile } from './en/profile.ts';
import { projects } from './en/projects.ts';
import { quota } from './en/quota.ts';
import { reasons } from './en/reasons.ts';
import { received } from './en/received.ts';
import { sensor } from './en/sensor.ts';
import { signIn } from './en/sign-in.ts';
import { signIns } from './en/sign-ins.ts';
import { strangers } from './en/strangers.ts';
import { users } from './en/users.ts';

export const enPages = {
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
