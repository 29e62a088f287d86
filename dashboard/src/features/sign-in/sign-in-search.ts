// Where to go after signing in; an address of this dashboard alone.

export interface SignInSearch {
  readonly next?: string | undefined;
}

/** What is no such address is undefined, not left out: the router would leave what stands in the address. */
export function parseSignInSearch({ next }: Record<string, unknown>): SignInSearch {
  // `//host` would be another host.
  const isOwn = typeof next === 'string' && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in');
  return { next: isOwn ? next : undefined };
}
