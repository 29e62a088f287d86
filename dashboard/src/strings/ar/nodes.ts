import type { Strings } from '../catalogue.ts';
import { countedInArabic } from '../plural.ts';
import { nouns } from './nouns.ts';

const server = { one: 'خادم واحد', two: 'خادمان', few: '# خوادم', many: '# خادمًا', other: '# خادم' };
const change = { one: 'تغيير واحد', two: 'تغييران', few: '# تغييرات', many: '# تغييرًا', other: '# تغيير' };

export const nodes: Strings['nodes'] = {
  title: 'الخوادم',
  count: (count) => countedInArabic(count, server),
  silentCount: (count) => `منها ${count.toLocaleString('ar-u-nu-latn')} بلا إشارة`,
  list: 'الخوادم',
  empty: 'لا خادم ظاهر.',
  emptyWords: 'كل خادم يخبر عن نفسه كل ثانية.',
  server: 'الخادم',
  state: 'الحالة',
  alive: 'يعمل',
  silent: 'صامت، آخر إشارة',
  answering: 'يجيبك',
  release: (release) => `الإصدار ${release}`,
  releaseName: 'الإصدار',
  machine: 'المضيف',
  started: 'بدأ',
  behind: 'التأخر',
  upToDate: 'غير متأخر',
  datapoints: (count) => countedInArabic(count, nouns.datapoint),
  changes: (count) => countedInArabic(count, change),
  work: 'يعمل للجميع',
  works: {
    rules: 'يقيّم الإشعارات',
    outbox: 'يرسل الرسائل',
    alarms: 'يراقب الصمت',
    retention: 'يحذف القديم جدًا',
    sealing: 'يضغط القياسات',
    edits: 'يزيل القيم ويصححها',
  },
  noWork: 'لا شيء، في الاحتياط',
  connections: 'الاتصالات',
  http: (count) => `${count.toLocaleString('ar-u-nu-latn')} HTTP`,
  mqtt: (count) => `${count.toLocaleString('ar-u-nu-latn')} MQTT`,
  rate: 'القياسات',
  perSecond: (rate) => `${rate.toLocaleString('ar-u-nu-latn', { maximumSignificantDigits: 3 })} في الثانية`,
  untold: 'لم يُعرف بعد',
  alone: 'خادم واحد يستخدم قاعدة البيانات. وأي خادم آخر يُشغَّل بنفس DUNDUN_DATABASE_URL يظهر هنا تلقائيًا.',
  several: 'الخادم الذي لا يعطي إشارة حياة لبضع ثوانٍ يُعلن ميتًا: يغادر هذه القائمة وتتولى الخوادم الأخرى عمله.',
  one: 'تعمل هذه الخدمة على خادم واحد.',
  oneWords: 'ولا بأس بذلك: فهو يحفظ بياناته في مجلد يستخدمه خادم واحد في كل مرة.',
  beyond:
    'حين تضيق آلة واحدة بالخدمة، أو يجب ألا يوقفها فقدانها، تُنقل البيانات إلى PostgreSQL وتتشاركها عدة خوادم. كيف يتم ذلك وما يلزم له تجده في',
};
