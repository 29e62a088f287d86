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

export function setTotal(reply: FastifyReply, total: number): void {
  reply.header('x-total-count', String(total));
}

function withOffset(request: FastifyRequest, page: Page, offset: number): string {
  const [path = '', query = ''] = request.url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  parameters.set('limit', String(page.limit));
  parameters.set('offset', String(offset));
  return `${path}?${parameters}`;
}
