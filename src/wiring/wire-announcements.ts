// What this process does when another one announces a change: it drops or reloads what it holds in memory of the
// changed record. It answers only when everything that was permitted before is committed. Called by server.ts before
// the servers listen.
import type { Coordination } from '../domain/ports/coordination.ts';
import type { Domain } from './wire-domain.ts';

export function followAnnouncements(coordination: Coordination, domain: Domain): void {
  const { users, directory, revocations, clientIds, rules, alarming, writer, services } = domain;
  const { actuators, corrections, keys, refreshSessions, gateways, guestAccess, quotas } = services;
  // A permission check and the append that follows it happen in one turn of the event loop. So whatever was permitted
  // is in the writer's queue by now, and this append resolves behind it.
  const committed = () => writer.append({ pushes: [] });
  coordination.listen({
    'user-changed': async ({ user }) => {
      users.forget(user);
      await committed();
    },
    'user-leaving': async ({ user, isLeaving }) => {
      users.followLeaving(user, isLeaving);
      await committed();
    },
    'keys-changed': async () => {
      keys.forget();
      await committed();
    },
    'refresh-sessions-changed': async () => {
      refreshSessions.forget();
      await committed();
    },
    'sign-in-revoked': async ({ revocation }) => {
      await revocations.apply(revocation);
      await committed();
    },
    'device-changed': async ({ device }) => {
      await directory.reload(device);
      await committed();
    },
    'device-ids-changed': ({ devices }) => rules.watcher.reloadWatching(devices),
    'datapoints-changed': async ({ sensor }) => corrections.follow(sensor),
    'actuator-set': (setting) => actuators.followSetting(setting),
    'device-leaving': ({ isLeaving, ...what }) => directory.followLeaving(what, isLeaving),
    'gateway-changed': async ({ gateway }) => {
      if (gateway === undefined) gateways.forgetAll();
      else await gateways.reload(gateway);
    },
    'guest-access-changed': async () => {
      await guestAccess.start();
      await committed();
    },
    'quotas-changed': async ({ user }) => quotas.apply(user),
    'rule-changed': ({ rule }) => rules.watcher.follow(rule),
    'alarms-changed': async () => alarming.changes.follow(),
    'messages-waiting': async ({ channels }) => rules.outbox.wakeHere(new Set(channels)),
    'client-id-taken': ({ clientId, user }) => clientIds.letGo(clientId, user),
    'client-id-reserved': async ({ clientId, user }) => clientIds.requireUnused(user, clientId),
    'anything-changed': async () => {
      users.forgetAll();
      keys.forget();
      refreshSessions.forget();
      directory.forgetAll();
      gateways.forgetAll();
      await guestAccess.start();
      await rules.watcher.follow();
      await committed();
    },
  });
}
