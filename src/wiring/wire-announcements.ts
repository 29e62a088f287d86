// What this process does when another one announces a change: it drops or reloads what it holds in memory of the
// changed record. It answers only when everything that was permitted before is committed. Called by server.ts before
// the servers listen.
import type { Coordination } from '../domain/ports/coordination.ts';
import type { Domain } from './wire-domain.ts';

export function followAnnouncements(coordination: Coordination, domain: Domain): void {
  const { users, directory, revocations, clientIds, rules, alarming, charges, writer, services } = domain;
  const { actuators, corrections, keys, refreshSessions, gateways, guestAccess, quotas } = services;
  // A permission check and the append that follows it happen in one turn of the event loop. So whatever was permitted
  // is in the writer's queue by now, and this append resolves behind it.
  const committed = () => writer.append({ pushes: [] });
  coordination.listen({
    'user-changed': async ({ user }) => {
      users.forget(user);
      await committed();
    },
    'user-leaving': async ({ user, isLeaving }, server) => {
      users.followLeaving(user, { server, isLeaving });
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
    'device-leaving': ({ isLeaving, ...what }, server) => directory.followLeaving(what, { server, isLeaving }),
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
    // What is looked up when it is missing is dropped. What is not, such as devices while messages are delivered, stays until it is read.
    'anything-changed': async ({ servers }) => {
      users.forgetAll(servers);
      keys.forget();
      refreshSessions.forget();
      await guestAccess.start();
      await directory.refreshAll(servers);
      await gateways.refreshAll();
      await charges.refreshAll();
      await rules.watcher.follow();
      alarming.changes.follow();
      await committed();
    },
  });
}
