// The Portuguese catalogue, a file for each noun; loaded when Portuguese is chosen. Nobody has read it yet who grew up with the language.

import type { Strings } from './catalogue.ts';
import { clients } from './pt/clients.ts';
import { datapoints } from './pt/datapoints.ts';
import { device } from './pt/device.ts';
import { devices } from './pt/devices.ts';
import { faults } from './pt/faults.ts';
import { firstRun } from './pt/first-run.ts';
import { gateways } from './pt/gateways.ts';
import { imports } from './pt/imports.ts';
import { notifications } from './pt/notifications.ts';
import { now } from './pt/now.ts';
import { ownAccount } from './pt/own-account.ts';
import { person } from './pt/person.ts';
import { places } from './pt/places.ts';
import { profile } from './pt/profile.ts';
import { projects } from './pt/projects.ts';
import { quota } from './pt/quota.ts';
import { reasons } from './pt/reasons.ts';
import { received } from './pt/received.ts';
import { sensor } from './pt/sensor.ts';
import { shared } from './pt/shared.ts';
import { shell } from './pt/shell.ts';
import { signIn } from './pt/sign-in.ts';
import { signIns } from './pt/sign-ins.ts';
import { strangers } from './pt/strangers.ts';
import { users } from './pt/users.ts';

export const pt: Strings = {
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
