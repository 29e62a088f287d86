import type { Strings } from '../catalogue.ts';
import { countedInArabic } from '../plural.ts';
import { nouns } from './nouns.ts';

export const projects: Strings['projects'] = {
  title: 'المشاريع',
  count: (count) =>
    countedInArabic(count, { one: 'مشروع واحد', two: 'مشروعان', few: '# مشاريع', many: '# مشروعًا', other: '# مشروع' }),
  empty: 'لا مشروع بعد.',
  emptyWords: 'يجمع المشروع أجهزة تنظر إليها معًا: حقل، مبنى، تجربة. ويرسمها على مخطط واحد وخريطة واحدة.',
  emptyNext: 'أنشئ الأول',
  create: 'مشروع جديد',
  createSubmit: 'أنشئ المشروع',
  edit: 'غيّر المشروع',
  editShort: 'عدّل',
  saved: (name) => `حُفظ ${name}.`,
  removed: (name) => `حُذف ${name}؛ وأجهزته باقية.`,
  nameExample: 'بصل الدلتا',
  nameMissing: 'أعطه اسمًا.',
  devices: 'الأجهزة',
  gateways: 'البوابات',
  map: 'أين هي',
  chart: 'معًا على مخطط',
  sensors: 'حساسات المخطط',
  chooseSensors: 'اختر الحساسات',
  chartEmpty: 'لا قيم في هذا الوقت. اختر حساسات أخرى أو وقتًا أطول.',
  holds: (devices, gateways) =>
    `${countedInArabic(devices, nouns.device)}، ${countedInArabic(gateways, nouns.gateway)}`,
  noDevices: 'ليس في هذا المشروع جهاز بعد.',
  noDevicesWords: 'اختر ما ينتمي بعضه إلى بعض.',
  chooseDevices: 'اختر الأجهزة',
};
