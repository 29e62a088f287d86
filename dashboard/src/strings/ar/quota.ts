import type { Strings } from '../catalogue.ts';

export const quota: Strings['quota'] = {
  title: 'التخزين والحدود',
  ownWords: 'ما لديك، وكم يحق لك منه. يستطيع مشرف رفع حد.',
  userWords: (name) => `ما لدى ${name}، وكم يحق له منه.`,
  adminWords: 'لا حدود للمشرفين.',
  kinds: {
    devices: 'الأجهزة',
    sensors: 'الحساسات',
    gateways: 'البوابات',
    projects: 'المشاريع',
    rules: 'الإشعارات',
    keys: 'مفاتيح API',
    description_bytes: 'الأوصاف',
    datapoint_bytes: 'القياسات',
    datapoints_per_day: 'قياسات اليوم',
    mqtt_sessions: 'جلسات MQTT',
    mqtt_session_bytes: 'طوابير MQTT',
    retained_bytes: 'الرسائل المحتفظ بها',
  },
  of: (used, limit) => `${used} من ${limit}`,
  change: 'غيّر الحدود …',
  changeOf: (name) => `حدود ${name}`,
  limitWords: 'الحقل الفارغ يُبقي القيمة المبدئية التي يظهرها. «none» من دون حد. تُكتب الأحجام مثل 500MiB أو 20GiB.',
  limitMeans: 'عدد صحيح، أو حجم مثل 500MiB لما يُحسب بالبايت، أو «none».',
  saved: 'تسري الحدود من الآن.',
};
