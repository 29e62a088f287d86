// An engine with another coordination or log: what processes on the same data tell each other, played by a test.
import type { CommitLog } from '../../src/domain/ports/commit-log.ts';
import type { Coordination } from '../../src/domain/ports/coordination.ts';
import type { Engine } from '../../src/domain/ports/engine.ts';

/** The engine, of which some of the coordination, and the commit log, are replaced. */
export function engineWith(
  engine: Engine,
  coordination: Partial<Coordination>,
  commitLog: CommitLog = engine.commitLog,
): Engine {
  const own = engine.coordination;
  return {
    ...{ stores: engine.stores, commitLog, series: engine.series, figures: engine.figures, nodes: engine.nodes },
    coordination: {
      standing: own.standing,
      counts: own.counts,
      questions: own.questions,
      acquire: (name) => own.acquire(name),
      announce: (announcement) => own.announce(announcement),
      listen: (handlers) => own.listen(handlers),
      ...coordination,
    },
    openMqttSessions: (rules) => engine.openMqttSessions(rules),
    usage: () => engine.usage(),
    seal: () => engine.seal(),
    observe: (observer) => engine.observe(observer),
    close: () => engine.close(),
  };
}
