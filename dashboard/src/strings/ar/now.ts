import type { Strings } from '../catalogue.ts';
import { countedInArabic, wordedInArabic } from '../plural.ts';

/** A name or a value in a sentence: whichever way it is written, it keeps together and turns nothing beside it round. */
function alone(part: string): string {
  return `\u2068${part}\u2069`;
}

export const now: Strings['now'] = {
  title: 'الآن',
  open: (count) =>
    countedInArabic(count, {
      one: 'إنذار مفتوح واحد',
      two: 'إنذاران مفتوحان',
      few: '# إنذارات مفتوحة',
      many: '# إنذارًا مفتوحًا',
      other: '# إنذار مفتوح',
    }),
  unseen: (count) =>
    countedInArabic(count, {
      one: 'إنذار واحد لا يتولاه أحد',
      two: 'إنذاران لا يتولاهما أحد',
      few: '# إنذارات لا يتولاها أحد',
      many: '# إنذارًا لا يتولاها أحد',
      other: '# إنذار لا يتولاها أحد',
    }),
  allWell: 'كل شيء على ما يرام.',
  snoozedOnly: (count) =>
    countedInArabic(count, {
      one: 'إنذار مؤجل واحد',
      two: 'إنذاران مؤجلان',
      few: '# إنذارات مؤجلة',
      many: '# إنذارًا مؤجلًا',
      other: '# إنذار مؤجل',
    }),
  noneOpen: 'لا إنذار مفتوح.',
  firstUntil: (time) => `أولها حتى ${alone(time)}`,
  silentDevices: (count) =>
    countedInArabic(count, {
      one: 'جهاز واحد صامت أطول من عادته',
      two: 'جهازان صامتان أطول من عادتهما',
      few: '# أجهزة صامتة أطول من عادتها',
      many: '# جهازًا صامتًا أطول من عادته',
      other: '# جهاز صامت أطول من عادته',
    }),
  onMap: (device) => `${alone(device)} على الخريطة`,
  view: 'أي الإنذارات',
  viewOpen: 'المفتوحة',
  viewSnoozed: 'المؤجلة',
  viewOver: 'المنتهية',
  alarms: 'الإنذارات',
  noneSnoozed: 'لا شيء مؤجل.',
  noneOver: 'لم يحدث خلل بعد.',
  noneOfDevice: 'لم يحدث خلل في هذا الجهاز.',
  beyond: (count) => `يظهر الأحدث فقط، وعددها ${count}.`,
  hasValue: (sensor, device, value) => `${alone(sensor)} من ${alone(device)}: ${alone(value)}`,
  isSilent: (sensor, device) => `${alone(sensor)} من ${alone(device)} صامت`,
  gatewayOffline: (gateway) => `البوابة ${alone(gateway)} غير متصلة`,
  storageRefuses: 'لا تستطيع الخدمة الحفظ',
  threshold: (threshold, condition) => `الحد ${alone(threshold)} (${alone(condition)})`,
  usually: (duration) => `تصل إشارته عادة كل ${alone(duration)}`,
  quietFor: (duration) => `صامت منذ أكثر من ${alone(duration)}`,
  since: 'بدأ',
  until: 'انتهى',
  times: (count) =>
    countedInArabic(count, { one: 'مرة واحدة', two: 'مرتان', few: '# مرات', many: '# مرةً', other: '# مرة' }),
  acknowledge: 'أتولى الأمر',
  acknowledgedBy: (name) => `يتولى الأمر ${alone(name)}`,
  acknowledged: 'هناك من يتولى الأمر',
  unacknowledge: 'تراجع عن تولي الأمر',
  note: 'ملاحظة',
  noteMeans: 'ما يجري عمله، لمن ينظر من الآخرين.',
  snooze: 'أجّل',
  snooze1h: 'لمدة ساعة',
  snooze4h: 'لمدة 4 ساعات',
  snooze1d: 'لمدة يوم',
  snooze7d: 'لمدة أسبوع',
  snoozedUntil: (time) => `مؤجل حتى ${alone(time)}`,
  unsnooze: 'أنهِ التأجيل',
  assign: 'أسند',
  assignTo: 'أسنده إلى شخص',
  assignMeans: 'شخص يحق له رؤية هذا الإنذار. لغيره شارك الجهاز أولاً.',
  assignedTo: (name) => `مسند إلى ${alone(name)}`,
  unassign: 'لا تسنده إلى أحد',
  more: (title) => `المزيد عن ${alone(title)}`,
  noDevices: 'لا جهاز بعد.',
  noDevicesWords: 'يظهر هنا كل خلل في أجهزتك.',
  begin: 'ابدأ',
  today: 'اليوم',
  dayDatapoints: (count) =>
    wordedInArabic(count, {
      zero: 'قياس أرسلته',
      one: 'قياس أرسلته',
      two: 'قياسان أرسلتهما',
      few: 'قياسات أرسلتها',
      many: 'قياسًا أرسلته',
      other: 'قياس أرسلته',
    }),
  dayDevices: (count) =>
    wordedInArabic(count, {
      zero: 'جهاز وصلت إشارته',
      one: 'جهاز وصلت إشارته',
      two: 'جهازان وصلت إشارتهما',
      few: 'أجهزة وصلت إشارتها',
      many: 'جهازًا وصلت إشارته',
      other: 'جهاز وصلت إشارته',
    }),
  dayFired: (count) =>
    wordedInArabic(count, {
      zero: 'إشعار انطلق',
      one: 'إشعار انطلق',
      two: 'إشعاران انطلقا',
      few: 'إشعارات انطلقت',
      many: 'إشعارًا انطلق',
      other: 'إشعار انطلق',
    }),
  daySent: (count) =>
    wordedInArabic(count, {
      zero: 'رسالة أُرسلت',
      one: 'رسالة أُرسلت',
      two: 'رسالتان أُرسلتا',
      few: 'رسائل أُرسلت',
      many: 'رسالةً أُرسلت',
      other: 'رسالة أُرسلت',
    }),
  dayStored: 'من بيانات أرسلتها محفوظة',
  holds: 'يصح الآن',
  who: { nobody: 'بلا متابع', me: 'لي' },
  kinds: { rule: 'الإشعارات', silence: 'حساسات صامتة', gateway: 'البوابات', storage: 'التخزين' },
  acknowledgeAll: (count) => `أتولى هذه الـ${count}`,
  noneFits: 'لا إنذار يطابق.',
  showAll: 'أظهر كل الإنذارات',
  refusesBecause: {
    disk: 'القرص يرفض الكتابة',
    diskFull: 'القرص يكاد يمتلئ: أفرغ منه مكانًا أو احذف بيانات',
    dataFull: 'شغلت البيانات كل المكان المسموح: احذف بعضها أو زد المكان',
    sealing: 'لا يُقبل المزيد حتى يمكن ضغط الموجود؛ وسجل الخدمة يقول السبب',
    database: 'قاعدة البيانات ترفض أو لا يمكن الوصول إليها',
    stopped: 'حلّت عملية أخرى محلها، أو توقفت الكتابة',
    other: 'سجل الخدمة يقول السبب',
  },
};
