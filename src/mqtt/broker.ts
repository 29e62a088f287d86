// aedes with the three things changed that this service needs: a client's publish to a sensor or an actuator is not
// routed (the feed does that), relayed topics go out in both forms, and we know which topics anybody asked for.
import { Aedes, type AedesOptions, type AedesPublishPacket, type Client, type PublishPacket } from 'aedes';
import { Qlobber } from 'qlobber';
import { LruCache } from '../base/lru-cache.ts';
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Outlet } from './delivery.ts';
import { bothForms } from './topics.ts';

type Done = (error?: Error) => void;
type Deliver = (packet: AedesPublishPacket, done: () => void) => void;

/** What the broker asks of its persistence beyond aedes's own interface. */
export interface SessionMemory {
  /** Filters of stored sessions with QoS above 0. */
  readonly storedFilters: number;
}

export class Broker extends Aedes implements Outlet {
  /** Packets that were taken by the domain or dropped; routing passes over them. */
  readonly #taken = new WeakSet<object>();
  readonly #memory: SessionMemory;
  readonly #filters = new Qlobber<Deliver>({
    separator: '/',
    wildcard_one: '+',
    wildcard_some: '#',
    match_empty_levels: true,
  });
  /** Whether anybody who is connected asked for a topic; forgotten with every change of a subscription. */
  readonly #wanted = new LruCache<string, boolean>({ weightMax: limits.topicsCachedMax });
  #filterCount = 0;

  constructor(options: AedesOptions, memory: SessionMemory) {
    super(options);
    this.#memory = memory;
  }

  /** Marks a packet so that it is acknowledged and not routed. */
  take(packet: object): void {
    this.#taken.add(packet);
  }

  get isWatched(): boolean {
    return this.#filterCount > 0 || this.#memory.storedFilters > 0;
  }

  wants(topic: string, { qos, retain }: { readonly qos: number; readonly retain: boolean }): boolean {
    return retain || (qos > 0 && this.#memory.storedFilters > 0) || this.#isSubscribed(topic);
  }

  /** Routes a message of the service's own; resolves when it is with its subscribers, or queued for them. */
  route(message: OutgoingMessage): Promise<void> {
    return new Promise((resolve) => super.publish({ cmd: 'publish', dup: false, ...message }, () => resolve()));
  }

  /** aedes calls this for what clients publish, for wills, and for its own `$SYS` messages. */
  override publish(packet: PublishPacket, clientOrDone: Client | Done, doneOrNothing?: Done): void {
    const done = (typeof clientOrDone === 'function' ? clientOrDone : doneOrNothing) as Done;
    if (this.#taken.has(packet)) setImmediate(done);
    else if (packet.topic.startsWith('$SYS/')) super.publish(packet, done);
    else this.#relay(packet, done);
  }

  override subscribe(filter: string, deliver: Deliver, done: () => void): void {
    this.#filters.add(filter, deliver);
    this.#filterCount += 1;
    this.#wanted.clear();
    super.subscribe(filter, deliver, done);
  }

  override unsubscribe(filter: string, deliver: Deliver, done: () => void): void {
    this.#filters.remove(filter, deliver);
    this.#filterCount -= 1;
    this.#wanted.clear();
    super.unsubscribe(filter, deliver, done);
  }

  #isSubscribed(topic: string): boolean {
    if (this.#filterCount === 0) return false;
    const known = this.#wanted.get(topic);
    if (known !== undefined) return known;
    const subscribed = this.#filters.match(topic).length > 0;
    this.#wanted.set(topic, subscribed);
    return subscribed;
  }

  #relay(packet: PublishPacket, done: Done): void {
    const [bare, slashed] = bothForms(packet.topic);
    super.publish({ ...packet, topic: bare }, (error?: Error) => {
      if (error) done(error);
      else super.publish({ ...packet, topic: slashed }, done);
    });
  }
}
