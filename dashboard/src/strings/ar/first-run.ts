import type { Strings } from '../catalogue.ts';

export const firstRun: Strings['firstRun'] = {
  title: 'أدخل أول قيمة',
  words: 'لا يوجد جهاز بعد. ثلاث طرق للبدء؛ الأولى تستغرق دقيقة.',
  pushTitle: 'أرسل قيمة الآن',
  pushWords: 'الصق هذا في الطرفية. ينشئ جهازًا ويرسل قيمة واحدة.',
  pushAsGuest: 'إذا أُرسلت من دون حساب فالجهاز ملك guest وهو عام.',
  waiting: 'في انتظار أول قيمة …',
  arrived: 'وصلت.',
  open: (name) => `افتح ${name}`,
  gatewayTitle: 'صِل بوابة',
  gatewayWords: 'أعطِ بوابتك هذا العنوان وحسابًا. وهي تنشئ أجهزتها بنفسها.',
  address: 'العنوان',
  mqtt: 'MQTT',
  account: 'الحساب',
  accountGuest: 'لا شيء (عام)، أو سجّل الدخول',
  importTitle: 'أدخل ملف CSV',
  importWords: 'سجلات من مكان آخر: اختر ملفًا، وقل ما معنى كل عمود، وانظر إليه، ثم اقبله.',
  importOpen: 'اختر ملفًا',
  byHand: 'أنشئ جهازًا يدويًا',
};
