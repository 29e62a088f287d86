// What the random streams of mqtt-streams.test.ts are made of: steps of six clients of all versions.
import fc from 'fast-check';
import type { Qos } from './session-model.ts';

/** The clients of each stream. A lasting one may leave a session; those that share keep none and answer at once. */
export const clients = [
  { name: 'a', version: 5, as: 'owner', receiveMaximum: 65_535, lasts: false },
  { name: 'b', version: 4, as: 'owner', receiveMaximum: 65_535, lasts: true },
  { name: 'c', version: 5, as: 'owner', receiveMaximum: 3, lasts: true },
  { name: 'd', version: 3, as: 'owner', receiveMaximum: 65_535, lasts: true },
  { name: 'e', version: 5, as: 'stranger', receiveMaximum: 65_535, lasts: true },
  { name: 'f', version: 5, as: 'owner', receiveMaximum: 65_535, lasts: false },
] as const;

export type ClientOfStream = (typeof clients)[number];

const qos = fc.constantFrom<Qos>(0, 1, 2);
const who = fc.nat({ max: clients.length - 1 });

const publish = fc.record({
  kind: fc.constant('publish' as const),
  /** Among the topics that the client tries. */
  topic: fc.nat({ max: 4 }),
  qos,
  isRetained: fc.boolean(),
  isEmpty: fc.boolean(),
  expiryS: fc.constantFrom(undefined, undefined, 2, 1_000),
  contentType: fc.constantFrom(undefined, undefined, 'text'),
});
const subscribe = fc.record({
  kind: fc.constant('subscribe' as const),
  filter: fc.nat({ max: 8 }),
  qos,
  isNoLocal: fc.boolean(),
  isAsPublished: fc.boolean(),
  retainHandling: fc.constantFrom<0 | 1 | 2>(0, 0, 1, 2),
  id: fc.constantFrom(undefined, 1, 300, 268_435_455),
});
const packet = fc.oneof(
  { weight: 10, arbitrary: publish },
  { weight: 5, arbitrary: subscribe },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unsubscribe' as const), filter: fc.nat({ max: 8 }) }) },
  /** The last one of QoS 2 that waits for PUBREL, or the last reading of QoS 1, with DUP. */
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), qos: fc.constantFrom<1 | 2>(1, 2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ping' as const) }) },
);
const will = fc.record({ isRetained: fc.boolean(), isReading: fc.boolean(), isDelayed: fc.boolean() });

export const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('connect' as const),
      who,
      isClean: fc.boolean(),
      expiryS: fc.constantFrom(0, 3, 1_000),
      will: fc.option(will, { nil: undefined, freq: 2 }),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('burst' as const),
      who,
      packets: fc.array(packet, { minLength: 1, maxLength: 5 }),
      /** Where the bytes are cut, as shares of all. */
      cuts: fc.array(fc.nat({ max: 999 }), { maxLength: 4 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('acknowledge' as const),
      who,
      count: fc.integer({ min: 1, max: 5 }),
      refuses: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      who,
      how: fc.constantFrom('leave', 'leave', 'leave for good', 'cut', 'cut', 'broken', 'will'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 4 }) }) },
);

type ValueOf<A> = A extends fc.Arbitrary<infer V> ? V : never;
export type Step = ValueOf<typeof step>;
export type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>;
export type PacketOfBurst = ValueOf<typeof packet>;
