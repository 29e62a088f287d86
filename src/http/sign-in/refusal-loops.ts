// Slows down clients that are refused again and again (contract 2): tells refused-calls.ts what became of each call with a
// token, and has refusals answered with 429 and Retry-After while their sender is slowed down. What would be accepted is.
// Guests have no such count: nothing they could change ends it. The fast path tells of its pushes itself.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Refusal } from '../../base/refusal.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';
import type { CallOrigin, RefusedCalls } from '../../domain/gateways/refused-calls.ts';
import type { Actor } from '../../domain/users/user.ts';

export class RefusalLoops {
  readonly #refusedCalls: RefusedCalls;
  readonly #directory: Pick<DeviceDirectory, 'peek'>;
  readonly #callers: { ofAddress(address: string): { readonly key: string } };

  constructor(parts: {
    readonly refusedCalls: RefusedCalls;
    readonly directory: Pick<DeviceDirectory, 'peek'>;
    readonly callers: { ofAddress(address: string): { readonly key: string } };
  }) {
    this.#refusedCalls = parts.refusedCalls;
    this.#directory = parts.directory;
    this.#callers = parts.callers;
  }

  /** Notes calls that were not refused. */
  register(app: FastifyInstance): void {
    app.addHook('onResponse', (request, { statusCode }, done) => {
      if (hasToken(request) && saysAccepted(statusCode)) this.#refusedCalls.accepted(this.#originOf(request));
      done();
    });
  }

  /** Notes a refusal; returns what is answered instead of it, if anything. */
  refused(request: FastifyRequest, { message: reason }: Refusal): Refusal | undefined {
    if (!hasToken(request)) return undefined;
    return this.#refusedCalls.refused(this.#originOf(request), { reason, gateway: this.#gatewayOf(request) });
  }

  #originOf({ actor, ip }: FastifyRequest): CallOrigin {
    return originOf(actor, this.#callers.ofAddress(ip).key);
  }

  /** The gateway that the path names, or that the device in the path belongs to. */
  #gatewayOf(request: FastifyRequest): string | undefined {
    const { gateway, device } = (request.params ?? {}) as { gateway?: string; device?: string };
    return gateway ?? (device === undefined ? undefined : this.#directory.peek(device)?.gatewayId);
  }
}

/** @param address key of the caller of the address. */
export function originOf({ key, username }: Pick<Actor, 'key' | 'username'>, address: string): CallOrigin {
  return { user: key, username, address };
}

function hasToken({ actor, headers }: FastifyRequest): boolean {
  return actor !== undefined && !actor.guest && headers.authorization !== undefined;
}

/**
 * Whether the status shows that the caller had the right to make the call. Not a refusal (403), which was noted elsewhere, and not
 * statuses that say nothing about rights: a bad token, too many calls, a failure of the service.
 */
function saysAccepted(statusCode: number): boolean {
  return statusCode !== 403 && statusCode !== 401 && statusCode !== 429 && statusCode < 500;
}
