// The Arabic catalogue, a file for each noun; loaded when Arabic is chosen. Nobody has read it yet who grew up with the language.

import { clients } from './ar/clients.ts';
import { datapoints } from './ar/datapoints.ts';
import { device } from './ar/device.ts';
import { devices } from './ar/devices.ts';
import { faults } from './ar/faults.ts';
import { firstRun } from './ar/first-run.ts';
import { gateways } from './ar/gateways.ts';
import { imports } from './ar/imports.ts';
import { notifications } from './ar/notifications.ts';
import { now } from './ar/now.ts';
import { ownAccount } from './ar/own-account.ts';
import { person } from './ar/person.ts';
import { places } from './ar/places.ts';
import { profile } from './ar/profile.ts';
import { projects } from './ar/projects.ts';
import { quota } from './ar/quota.ts';
import { reasons } from './ar/reasons.ts';
import { received } from './ar/received.ts';
import { sensor } from './ar/sensor.ts';
import { shared } from './ar/shared.ts';
import { shell } from './ar/shell.ts';
import { signIn } from './ar/sign-in.ts';
import { signIns } from './ar/sign-ins.ts';
import { strangers } from './ar/strangers.ts';
import { users } from './ar/users.ts';
import type { Strings } from './catalogue.ts';

export const ar: Strings = {
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
