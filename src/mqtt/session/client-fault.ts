// Why a connection is given up, with the reason code that a client of version 5 is told in DISCONNECT [MQTT-4.13.1-1].
import { Refusal } from '../../base/refusal.ts';
import type { PacketFault } from '../protocol/packet-cursor.ts';
import { type ReasonCode, reasonCodes } from '../protocol/reason-codes.ts';

export class ClientFault extends Error {
  readonly reasonCode: ReasonCode;
  /** Where the client is to go [MQTT-3.14.2.2.5]. */
  readonly serverReference: string | undefined;

  constructor(
    reasonCode: ReasonCode,
    message: string,
    { serverReference }: { readonly serverReference?: string } = {},
  ) {
    super(message);
    this.reasonCode = reasonCode;
    this.serverReference = serverReference;
  }
}

/** @param serverReference where clients are to go; empty: nowhere. */
export function shutdownFault(serverReference: string): ClientFault {
  if (serverReference === '') return new ClientFault(reasonCodes.serverShuttingDown, 'The service stops.');
  return new ClientFault(reasonCodes.useAnotherServer, 'The service stops.', { serverReference });
}

/** What a client is told of an error that ends its connection. */
export function faultCodeOf(error: Error): ReasonCode {
  if (error instanceof ClientFault) return error.reasonCode;
  if (!(error instanceof Refusal)) return reasonCodes.unspecifiedError;
  switch (error.code) {
    case 'full':
    case 'quota':
      return reasonCodes.quotaExceeded;
    case 'busy':
      return reasonCodes.serverBusy;
    case 'too-many':
      return reasonCodes.receiveMaximumExceeded;
    default:
      return reasonCodes.unspecifiedError;
  }
}

export function toClientFault({ reasonCode, clause, detail }: PacketFault): ClientFault {
  return new ClientFault(reasonCode, `${detail} [${clause}]`);
}
