import type { Strings } from '../catalogue.ts';

export const received: Strings['received'] = {
  title: 'سُلّم إليك',
  words: 'أجهزة جعلها غيرك لك. انتهت مشاركاتها السابقة؛ وحتى الوقت المذكور يمكنك إعادتها، أو رد الجهاز.',
  list: 'أجهزة سُلّمت إليك',
  from: (name) => `من ${name}`,
  fromNobody: 'من شخص لم يعد مستخدمًا',
  until: 'يُقرَّر',
  shares: (names) => `كان مشارَكًا مع ${names}`,
  noShares: 'لم يكن مشارَكًا مع أحد',
  keep: 'أبقِ المشاركات السابقة',
  keepOf: (device) => `أبقِ المشاركات السابقة لـ ${device}`,
  keepQuestion: (device) => `هل تشارك ${device} كما كان؟`,
  keepWords: (names) =>
    `يستطيع ${names} استعماله كما كان. يمكنك إنهاء كل مشاركة في صفحة الجهاز؛ ولا يعود رده من هنا ممكنًا.`,
  kept: (device) => `يُشارك ${device} كما كان.`,
  giveBack: 'رُدّه',
  giveBackOf: (device) => `رُدّ: ${device}`,
  giveBackQuestion: (device) => `هل ترد ${device}؟`,
  giveBackWords: (name) => `يعود فورًا ملكًا لـ ${name}، مع مشاركاته. ثم لا تراه إلا إذا شورك معك أو كان عامًا.`,
  givenBack: (device, name) => `عاد ${device} ملكًا لـ ${name}.`,
};
