// A live stream as it is answered: its events one after the other for as long as the reader is there. Called by the routes of live
// streams, of devices and of alarms, once the stream is open.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../config/limits.ts';
import { encodeEvents, eventTexts } from './event-streams.ts';
import { unlessStalled } from './row-streams.ts';

interface OpenStream<E> {
  /** The events in steps; an empty step is a sign of life. */
  events(): AsyncGenerator<readonly E[]>;
  /** The reader has gone. */
  leave(): void;
}

export function sendEvents<E>(
  request: FastifyRequest,
  reply: FastifyReply,
  { stream, textOf }: { readonly stream: OpenStream<E>; readonly textOf: (event: E) => string },
): FastifyReply {
  // Notices at once when the reader disconnects, not only at the next event.
  const leave = () => stream.leave();
  const { socket } = request.raw;
  // A client that closes its half has usually closed both.
  socket.once('end', leave);
  reply.raw.once('close', () => {
    socket.off('end', leave);
    leave();
  });
  if (reply.raw.destroyed || socket.readableEnded) leave();
  const events = encodeEvents(request, reply, eventTexts(stream.events(), textOf));
  // Live streams have a budget of their own.
  const chunks = unlessStalled(events, reply, { stallMs: limits.liveStallMs, reservation: undefined });
  return reply.send(Readable.from(chunks, { objectMode: false }));
}
