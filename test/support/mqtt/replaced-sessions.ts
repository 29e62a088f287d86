// A server whose stored MQTT sessions have some methods replaced: an engine that is slow, or refuses, as it does under load.
import type { TestContext } from 'node:test';
import type { Engine } from '../../../src/domain/ports/engine.ts';
import type { MqttSessionRules, MqttSessions } from '../../../src/domain/ports/mqtt-sessions.ts';
import { engineWith } from '../engine-with.ts';
import { TestServer } from '../test-server.ts';

/** @param replace gives the replaced methods; the others are those of the engine. */
export async function startWithSessions(
  t: Pick<TestContext, 'after'>,
  replace: (sessions: MqttSessions) => Partial<MqttSessions>,
): Promise<TestServer> {
  const replaceEngine = (engine: Engine) => ({
    ...engineWith(engine, {}),
    openMqttSessions: (rules: MqttSessionRules) => {
      const sessions = engine.openMqttSessions(rules);
      const replaced = replace(sessions);
      return new Proxy(sessions, {
        get(target, name) {
          if (name in replaced) return replaced[name as keyof MqttSessions];
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  });
  const server = await TestServer.start({}, { replaceEngine });
  t.after(() => server.stop());
  return server;
}
