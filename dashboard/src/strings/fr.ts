// The French catalogue, a file for each noun; loaded when French is chosen.

import type { Strings } from './catalogue.ts';
import { clients } from './fr/clients.ts';
import { datapoints } from './fr/datapoints.ts';
import { device } from './fr/device.ts';
import { devices } from './fr/devices.ts';
import { faults } from './fr/faults.ts';
import { firstRun } from './fr/first-run.ts';
import { gateways } from './fr/gateways.ts';
import { imports } from './fr/imports.ts';
import { notifications } from './fr/notifications.ts';
import { now } from './fr/now.ts';
import { ownAccount } from './fr/own-account.ts';
import { person } from './fr/person.ts';
import { places } from './fr/places.ts';
import { profile } from './fr/profile.ts';
import { projects } from './fr/projects.ts';
import { quota } from './fr/quota.ts';
import { reasons } from './fr/reasons.ts';
import { received } from './fr/received.ts';
import { sensor } from './fr/sensor.ts';
import { shared } from './fr/shared.ts';
import { shell } from './fr/shell.ts';
import { signIn } from './fr/sign-in.ts';
import { signIns } from './fr/sign-ins.ts';
import { strangers } from './fr/strangers.ts';
import { users } from './fr/users.ts';

export const fr: Strings = {
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
