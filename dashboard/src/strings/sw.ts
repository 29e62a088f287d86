// The Swahili catalogue, a file for each noun; loaded when Swahili is chosen. Nobody has read it yet who grew up with the language.

import type { Strings } from './catalogue.ts';
import { clients } from './sw/clients.ts';
import { datapoints } from './sw/datapoints.ts';
import { device } from './sw/device.ts';
import { devices } from './sw/devices.ts';
import { faults } from './sw/faults.ts';
import { firstRun } from './sw/first-run.ts';
import { gateways } from './sw/gateways.ts';
import { imports } from './sw/imports.ts';
import { notifications } from './sw/notifications.ts';
import { now } from './sw/now.ts';
import { ownAccount } from './sw/own-account.ts';
import { person } from './sw/person.ts';
import { places } from './sw/places.ts';
import { profile } from './sw/profile.ts';
import { projects } from './sw/projects.ts';
import { quota } from './sw/quota.ts';
import { reasons } from './sw/reasons.ts';
import { received } from './sw/received.ts';
import { sensor } from './sw/sensor.ts';
import { shared } from './sw/shared.ts';
import { shell } from './sw/shell.ts';
import { signIn } from './sw/sign-in.ts';
import { signIns } from './sw/sign-ins.ts';
import { strangers } from './sw/strangers.ts';
import { users } from './sw/users.ts';

export const sw: Strings = {
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
