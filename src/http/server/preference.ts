// A caller's preferences: `Prefer` (RFC 7240) and `Accept`.
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Ends a write with 204 and no body. (A null body would be serialized in vain.) */
export function answerDone(reply: { code(status: 204): unknown }): FastifyReply {
  return (reply as unknown as FastifyReply).code(204).send();
}

/** Ends a call that is worked on after its answer. */
export function answerAccepted(reply: { code(status: 202): unknown }): FastifyReply {
  return (reply as unknown as FastifyReply).code(202).send();
}

/**
 * Ends a create with 204, or 201 with the record where the caller prefers that; always with `Location` (contract 1).
 */
export async function answerCreated(
  request: FastifyRequest,
  reply: FastifyReply,
  created: { readonly location: string; readonly record: () => Promise<object> },
): Promise<FastifyReply> {
  reply.header('location', created.location);
  if (!prefersRepresentation(request)) return reply.code(204).send();
  return reply
    .code(201)
    .header('preference-applied', 'return=representation')
    .send(await created.record());
}

/**
 * Ends a create that answers 200: without a body, or with the generated id as text or JSON string by `Accept`; 201 with
 * the record where the caller prefers that; always with `Location` (contract 6).
 */
export async function answerDeclared(
  request: FastifyRequest,
  reply: FastifyReply,
  created: { readonly location: string; readonly id?: string; readonly record: () => Promise<object> },
): Promise<FastifyReply> {
  if (prefersRepresentation(request)) return answerCreated(request, reply, created);
  const { id, location } = created;
  reply.code(200).header('location', location);
  return id === undefined ? reply.send() : answerText(request, reply, id);
}

/** Ends with one text: bare, or as a JSON string where `Accept` prefers that. */
export function answerText(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  if (ranksAbove(request.headers.accept, 'application/json', 'text/plain')) {
    return reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(text);
  }
  return reply.type('text/plain;charset=utf-8').serializer(String).send(text);
}

function prefersRepresentation(request: FastifyRequest): boolean {
  return prefers(request, /^return\s*=\s*"?representation"?$/i);
}

/** Whether a push asks that no notification evaluates it (contract 7). */
export function prefersNoNotify(request: FastifyRequest): boolean {
  return request.headers['prefer'] !== undefined && prefers(request, /^notify\s*=\s*"?none"?$/i);
}

function prefers(request: FastifyRequest, preference: RegExp): boolean {
  const prefer = request.headers['prefer'];
  const text = Array.isArray(prefer) ? prefer.join(',') : prefer;
  return text?.split(/[,;]/).some((part) => preference.test(part.trim())) ?? false;
}

/** True when `Accept` ranks `type` strictly above `other`; without the header, or with wildcards, they are equal. */
function ranksAbove(accept: string | undefined, type: string, other: string): boolean {
  return accept !== undefined && qualityOf(accept, type) > qualityOf(accept, other);
}

/** True when `Accept` names the type itself and ranks it above JSON. */
export function asksFor(accept: string | undefined, type: string): boolean {
  return ranksAbove(accept, type, 'application/json');
}

function qualityOf(accept: string, type: string): number {
  const [family] = type.split('/');
  let best = { specificity: -1, quality: 0 };
  for (const range of accept.split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const specificity = name === type ? 2 : name === `${family}/*` ? 1 : name === '*/*' ? 0 : -1;
    if (specificity <= best.specificity) continue;
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    best = { specificity, quality: q === undefined ? 1 : Number(q.slice(2)) || 0 };
  }
  return best.quality;
}
