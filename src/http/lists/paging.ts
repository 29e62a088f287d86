// Pages of lists: `limit` and `offset` in, `Link` and `X-Total-Count` out (contract 1).
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Sets `Link` (RFC 8288) to the pages before and after this one. */
export function setLinks(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page & { readonly hasNext: boolean },
): void {
  const links: string[] = [];
  if (page.hasNext) links.push(`<${withOffset(request, page, page.offset + page.limit)}>; rel="next"`);
  if (page.offset > 0) links.push(`<${withOffset(request, page, Math.max(0, page.offset - page.limit))}>; rel="prev"`);
  if (links.length > 0) reply.header('link', links.join(', '));
}

/** A complete list, or a page of it where a limit is given; sets its headers (contract 1). */
export function pageFrom<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  all: readonly T[],
  { limit, offset = 0 }: { readonly limit?: number; readonly offset?: number },
): T[] {
  setTotal(reply, all.length);
  const end = limit === undefined ? all.length : offset + limit;
  if (limit !== undefined) setLinks(request, reply, { limit, offset, hasNext: end < all.length });
  return all.slice(offset, end);
}

function setTotal(reply: FastifyReply, total: number): void {
  reply.header('x-total-count', String(total));
}

/** The headers of a page of a counted list. */
export function setPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { limit, offset, total }: { readonly limit?: number | undefined; readonly offset: number; readonly total: number },
): void {
  setTotal(reply, total);
  if (limit !== undefined) setLinks(request, reply, { limit, offset, hasNext: offset + limit < total });
}

function withOffset(request: FastifyRequest, page: Page, offset: number): string {
  const [path = '', query = ''] = request.url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  parameters.set('limit', String(page.limit));
  parameters.set('offset', String(offset));
  return `${path}?${parameters}`;
}
