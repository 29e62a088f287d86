// An engine whose ports tell of each call as a span. What comes to the commit log in the fast paths belongs to no request, so
// each append has a trace of its own there. Series that are read in steps have a span for each step.
import type { Tracing } from '../base/tracing.ts';
import { countRows, type DatapointBatch } from '../domain/datapoints/datapoint-batch.ts';
import type { Engine } from '../domain/ports/engine.ts';

export function traceEngine(engine: Engine, tracing: Tracing): Engine {
  const stores = Object.fromEntries(
    Object.entries(engine.stores).map(([name, store]) => [name, traceCalls(store, `store ${name}`, tracing)]),
  ) as unknown as Engine['stores'];
  const commitLog = tracingCalls(engine.commitLog, (name) =>
    name === 'append'
      ? (work, [batch]) => {
          const attributes = { 'dundun.datapoints': countRows(batch as DatapointBatch) };
          return tracing.work({ name: 'commit log append', kind: 'internal', attributes }, work);
        }
      : undefined,
  );
  const series = traceCalls(engine.series, 'series', tracing);
  return withOwn(engine, { stores, commitLog, series });
}

function traceCalls<Port extends object>(port: Port, of: string, tracing: Tracing): Port {
  return tracingCalls(port, (name) => (work) => tracing.part({ name: `${of} ${name}`, kind: 'internal' }, work));
}

type Around = (work: () => unknown, given: readonly unknown[]) => unknown;

/** A port whose methods run in what `around` gives for their name. */
function tracingCalls<Port extends object>(port: Port, around: (name: string) => Around | undefined): Port {
  const methods = new Map<string, unknown>();
  return new Proxy(port, {
    get(target, name) {
      // Private fields are those of the object behind the proxy.
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      if (!methods.has(name)) {
        const run = around(name);
        const call = (...given: unknown[]) => Reflect.apply(value, target, given) as unknown;
        methods.set(name, run === undefined ? call : (...given: unknown[]) => run(() => call(...given), given));
      }
      return methods.get(name);
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

/** The same engine with some members replaced. */
function withOwn(engine: Engine, own: Pick<Engine, 'stores' | 'commitLog' | 'series'>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof typeof own];
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
