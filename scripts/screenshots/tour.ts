// The pictures of the README's tour: which scene, on which screen, under which name.
import type { House } from './houses.ts';

export interface Picture {
  readonly name: string;
  readonly scene: string;
  readonly screen: 'desktop-light' | 'desktop-dark' | 'phone-light' | 'phone-dark';
  /** The motes unless said otherwise. */
  readonly house?: House;
}

export const tour: readonly Picture[] = [
  { name: 'sign-in', scene: 'sign-in', screen: 'desktop-light', house: 'nothing' },
  { name: 'first-run', scene: 'first-run', screen: 'desktop-light', house: 'nothing' },
  { name: 'now', scene: 'now', screen: 'desktop-light' },
  { name: 'now-alarms', scene: 'now', screen: 'desktop-light', house: 'alarms' },
  { name: 'now-phone', scene: 'now', screen: 'phone-dark', house: 'alarms' },
  { name: 'devices', scene: 'devices', screen: 'desktop-light' },
  { name: 'devices-phone', scene: 'devices', screen: 'phone-light' },
  { name: 'device', scene: 'device', screen: 'desktop-light' },
  { name: 'device-phone', scene: 'device', screen: 'phone-dark' },
  { name: 'sensor', scene: 'sensor', screen: 'desktop-dark' },
  { name: 'map', scene: 'map', screen: 'desktop-light' },
  { name: 'notifications', scene: 'notifications', screen: 'desktop-light' },
  { name: 'outbox', scene: 'notifications-outbox', screen: 'desktop-light' },
  { name: 'notification', scene: 'notification', screen: 'phone-light' },
  { name: 'sharing', scene: 'device-sharing', screen: 'desktop-light' },
  { name: 'gateways', scene: 'gateways', screen: 'desktop-light' },
  { name: 'gateway', scene: 'gateway', screen: 'desktop-light' },
  { name: 'projects', scene: 'projects', screen: 'desktop-light' },
  { name: 'project', scene: 'project', screen: 'desktop-dark' },
  { name: 'users', scene: 'users', screen: 'desktop-light' },
  { name: 'profile', scene: 'profile-keys', screen: 'desktop-light' },
  { name: 'import', scene: 'import-device', screen: 'desktop-light' },
];
