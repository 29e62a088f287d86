import type { Strings } from '../catalogue.ts';
import { countedInSwahili } from '../plural.ts';

export const projects: Strings['projects'] = {
  title: 'Miradi',
  count: (count) => countedInSwahili(count, 'mradi', 'miradi'),
  empty: 'Bado hakuna mradi.',
  emptyWords:
    'Mradi huweka pamoja vifaa unavyovitazama pamoja: shamba, jengo, jaribio. Huvichora kwenye chati moja na ramani moja.',
  emptyNext: 'Unda wa kwanza',
  create: 'Mradi mpya',
  createSubmit: 'Unda mradi',
  edit: 'Badilisha mradi',
  editShort: 'Hariri',
  saved: (name) => `${name} umehifadhiwa.`,
  removed: (name) => `${name} umefutwa; vifaa vyake vinabaki.`,
  nameExample: 'Vitunguu vya delta',
  nameMissing: 'Upe jina.',
  devices: 'Vifaa',
  gateways: 'Malango',
  map: 'Viko wapi',
  chart: 'Pamoja kwenye chati',
  sensors: 'Vihisi kwenye chati',
  chooseSensors: 'Chagua vihisi',
  chartEmpty: 'Hakuna thamani katika muda huu. Chagua vihisi vingine au muda mrefu zaidi.',
  holds: (devices, gateways) =>
    `${countedInSwahili(devices, 'kifaa', 'vifaa')}, ${countedInSwahili(gateways, 'lango', 'malango')}`,
  noDevices: 'Mradi huu bado hauna kifaa.',
  noDevicesWords: 'Chagua vinavyokwenda pamoja.',
  chooseDevices: 'Chagua vifaa',
};
