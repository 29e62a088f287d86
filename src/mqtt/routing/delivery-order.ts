// The order in which messages go out to subscribers: that of arrival, as long as all of them leave at once. When some
// must wait for a later turn of the event loop, publishers take turns, so that messages to many subscribers do not
// delay those of other publishers. The messages of one device keep their order (I3). Used by delivery-queue.ts.
import type { Caller } from '../../domain/callers/caller.ts';

export interface OrderedMessage {
  /** The publisher. */
  readonly caller: Caller;
  /** Messages with the same key keep their order: those of a device. */
  readonly orderKey: string;
  /** To how many subscribers it goes. */
  readonly subscribers: number;
}

/** Waiting messages of one device, in order; its turn is that of the publisher of the first. */
interface DeviceQueue<Message> {
  readonly key: string;
  readonly messages: Message[];
  /** Index of the first that waits. */
  next: number;
}

/** Devices whose first waiting message is of one publisher. */
interface PublisherTurn<Message> {
  readonly devices: Set<DeviceQueue<Message>>;
  /**
   * Deliveries left in this turn, one for each subscriber. Below 0 after too long a turn: the next ones are shorter.
   */
  credit: number;
}

export class DeliveryOrder<Message extends OrderedMessage> {
  readonly #turnMax: number;
  /** Messages in order of arrival, and the index of the first that waits; used while publishers do not take turns. */
  #arrived: Message[] = [];
  #next = 0;
  readonly #devices = new Map<string, DeviceQueue<Message>>();
  /** Publishers with waiting messages; it is the turn of the first. */
  readonly #turns = new Map<Caller, PublisherTurn<Message>>();

  /** @param turnMax messages that a publisher sends in one turn, each counted for each of its subscribers. */
  constructor(turnMax: number) {
    this.#turnMax = turnMax;
  }

  put(message: Message): void {
    if (this.#turns.size === 0) this.#arrived.push(message);
    else this.#putInTurns(message);
  }

  /** From now on publishers take turns, until nothing waits. */
  takeTurns(): void {
    if (this.#turns.size > 0) return;
    const arrived = this.#arrived;
    const next = this.#next;
    this.#forgetArrived();
    for (let index = next; index < arrived.length; index += 1) this.#putInTurns(arrived[index] as Message);
  }

  /** Takes the next message; undefined where none waits. */
  take(): Message | undefined {
    if (this.#turns.size > 0) return this.#takeInTurns();
    const message = this.#arrived[this.#next];
    if (message === undefined) this.#forgetArrived();
    else this.#next += 1;
    return message;
  }

  #forgetArrived(): void {
    if (this.#arrived.length === 0) return;
    this.#arrived = [];
    this.#next = 0;
  }

  #putInTurns(message: Message): void {
    const device = this.#devices.get(message.orderKey);
    if (device !== undefined) {
      device.messages.push(message);
      return;
    }
    const added: DeviceQueue<Message> = { key: message.orderKey, messages: [message], next: 0 };
    this.#devices.set(added.key, added);
    this.#queueFor(message.caller, added);
  }

  #queueFor(caller: Caller, device: DeviceQueue<Message>): void {
    const turn = this.#turns.get(caller);
    if (turn === undefined) this.#turns.set(caller, { devices: new Set([device]), credit: this.#turnMax });
    else turn.devices.add(device);
  }

  #takeInTurns(): Message | undefined {
    for (const [caller, turn] of this.#turns) {
      const [device] = turn.devices;
      if (device !== undefined && turn.credit > 0) return this.#takeOf(caller, turn, device);
      turn.credit += this.#turnMax;
      // At the end: the loop comes back to it after the others.
      this.#turns.delete(caller);
      this.#turns.set(caller, turn);
    }
    return undefined;
  }

  #takeOf(caller: Caller, turn: PublisherTurn<Message>, device: DeviceQueue<Message>): Message {
    const message = device.messages[device.next] as Message;
    device.next += 1;
    turn.credit -= Math.max(1, message.subscribers);
    turn.devices.delete(device);
    const following = device.messages[device.next];
    if (following === undefined) this.#devices.delete(device.key);
    else {
      // Sent messages must not stay in memory where the device's queue never becomes empty.
      if (device.next * 2 > device.messages.length) {
        device.messages.splice(0, device.next);
        device.next = 0;
      }
      // Behind the publisher's other devices.
      this.#queueFor(following.caller, device);
    }
    if (turn.devices.size === 0) this.#turns.delete(caller);
    return message;
  }
}
