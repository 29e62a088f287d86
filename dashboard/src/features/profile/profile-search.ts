// Which part of the profile is open, as it stands behind the `?`.

export const profileTabs = ['data', 'messages', 'shares', 'keys', 'access'] as const;
export type ProfileTab = (typeof profileTabs)[number];

export interface ProfileSearch {
  readonly tab?: ProfileTab | undefined;
}

export function parseProfileSearch({ tab }: Record<string, unknown>): ProfileSearch {
  return { tab: profileTabs.find((known) => known === tab && known !== 'data') };
}
