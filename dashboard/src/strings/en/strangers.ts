export const strangers = {
  title: 'What may strangers do?',
  words:
    'A stranger is anybody who reaches this address and has not signed in. Devices without an account are strangers too.',
  full: 'Read, send and change',
  fullMeans:
    'They make devices, send values, read what is public, and change or delete what has no owner. Right for a network of your own.',
  push: 'Read and send',
  pushMeans: 'They make devices, send values and read what is public, and change nothing that is there.',
  none: 'Nothing',
  noneMeans: 'Whoever does not sign in is turned away; every device needs an account or a key. Right for the internet.',
  save: 'Keep this',
  saved: 'Kept. You find it again in your profile, under Access and look.',
  fixed: 'The operator has fixed this by DUNDUN_GUEST_ACCESS; it is changed there.',
};
