// The Spanish catalogue, a file for each noun; loaded when Spanish is chosen. Nobody has read it yet who grew up with the language.

import type { Strings } from './catalogue.ts';
import { clients } from './es/clients.ts';
import { datapoints } from './es/datapoints.ts';
import { device } from './es/device.ts';
import { devices } from './es/devices.ts';
import { faults } from './es/faults.ts';
import { firstRun } from './es/first-run.ts';
import { gateways } from './es/gateways.ts';
import { imports } from './es/imports.ts';
import { notifications } from './es/notifications.ts';
import { now } from './es/now.ts';
import { ownAccount } from './es/own-account.ts';
import { person } from './es/person.ts';
import { places } from './es/places.ts';
import { profile } from './es/profile.ts';
import { projects } from './es/projects.ts';
import { quota } from './es/quota.ts';
import { reasons } from './es/reasons.ts';
import { received } from './es/received.ts';
import { sensor } from './es/sensor.ts';
import { shared } from './es/shared.ts';
import { shell } from './es/shell.ts';
import { signIn } from './es/sign-in.ts';
import { signIns } from './es/sign-ins.ts';
import { strangers } from './es/strangers.ts';
import { users } from './es/users.ts';

export const es: Strings = {
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
