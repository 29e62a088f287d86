// The English catalogue, a file for each noun. It says which strings there are: strings.ts takes its type from here,
// and the other languages fail to compile where they lack one.

import { clients } from './en/clients.ts';
import { datapoints } from './en/datapoints.ts';
import { device } from './en/device.ts';
import { devices } from './en/devices.ts';
import { faults } from './en/faults.ts';
import { firstRun } from './en/first-run.ts';
import { gateways } from './en/gateways.ts';
import { imports } from './en/imports.ts';
import { notifications } from './en/notifications.ts';
import { now } from './en/now.ts';
import { ownAccount } from './en/own-account.ts';
import { person } from './en/person.ts';
import { places } from './en/places.ts';
import { profile } from './en/profile.ts';
import { projects } from './en/projects.ts';
import { quota } from './en/quota.ts';
import { reasons } from './en/reasons.ts';
import { received } from './en/received.ts';
import { sensor } from './en/sensor.ts';
import { shared } from './en/shared.ts';
import { shell } from './en/shell.ts';
import { signIn } from './en/sign-in.ts';
import { signIns } from './en/sign-ins.ts';
import { strangers } from './en/strangers.ts';
import { users } from './en/users.ts';

export const en = {
  clients,
  datapoints,
  devices,
  faults,
  firstRun,
  gateways,
  imports,
  notifications,
  now,
  ownAccount,
  person,
  places,
  profile,
  projects,
  quota,
  reasons,
  received,
  device,
  sensor,
  shared,
  shell,
  signIn,
  signIns,
  strangers,
  users,
};
