export const received = {
  title: 'Handed to you',
  words:
    'Devices that others made yours. The shares they had have ended; until the time named you can bring them back, or give a device back.',
  list: 'Devices handed to you',
  from: (name: string) => `from ${name}`,
  fromNobody: 'from somebody who is no user any more',
  until: 'to be decided',
  shares: (names: string) => `Was shared with ${names}`,
  noShares: 'Was shared with nobody',
  keep: 'Keep the old shares',
  keepOf: (device: string) => `Keep the old shares of ${device}`,
  keepQuestion: (device: string) => `Share ${device} as before?`,
  keepWords: (names: string) =>
    `${names} can use it again as before. You can end each share on the page of the device; giving it back here is no longer possible.`,
  kept: (device: string) => `${device} is shared as before.`,
  giveBack: 'Give it back',
  giveBackOf: (device: string) => `Give it back: ${device}`,
  giveBackQuestion: (device: string) => `Give ${device} back?`,
  giveBackWords: (name: string) =>
    `It belongs to ${name} again at once, with the shares it had. You see it then only if it is shared with you or public.`,
  givenBack: (device: string, name: string) => `${device} belongs to ${name} again.`,
};
