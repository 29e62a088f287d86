// A filter of a connected client, with what was granted. In the tree of filters and in the list of its session.

import type { Qos } from '../protocol/packet-types.ts';
import type { Client } from '../session/client.ts';

/** What a client asks for beside the filter; all but the QoS are of version 5 [3.8.3.1]. */
export interface FilterOptions {
  readonly qos: Qos;
  /** No messages that the client has published itself. */
  readonly noLocal: boolean;
  /** RETAIN as it was published. */
  readonly retainAsPublished: boolean;
  /** When retained messages are sent: 0 at each SUBSCRIBE, 1 only for a new filter, 2 never. */
  readonly retainHandling: 0 | 1 | 2;
  /** Sent with each message that matches; undefined: none. */
  readonly identifier: number | undefined;
}

export class LiveFilter {
  readonly client: Client;
  readonly filter: string;
  options: FilterOptions;

  constructor(client: Client, filter: string, options: FilterOptions) {
    this.client = client;
    this.filter = filter;
    this.options = options;
  }

  get qos(): Qos {
    return this.options.qos;
  }
}
