// What stands behind the `?` of the list of users.

export interface UsersSearch {
  readonly find?: string | undefined;
}

export function parseUsersSearch({ find }: Record<string, unknown>): UsersSearch {
  return { find: find === undefined || find === '' ? undefined : String(find) };
}
