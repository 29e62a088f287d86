import type { Strings } from '../catalogue.ts';

export const ownAccount: Strings['ownAccount'] = {
  everything: 'كل ما لديك',
  everythingWords:
    'ملف ZIP واحد فيه ملفك الشخصي وأجهزتك وبواباتك ومشاريعك وإشعاراتك ورسائلك ومشاركاتك بصيغة JSON، وكل قيم أجهزتك بصيغة CSV. من دون كلمات مرور ولا مفاتيح.',
  download: 'نزّل كل ما لديك',
  soFar: (size) => `${size} حتى الآن …`,
  saved: (file) => `حُفظ ${file}.`,
  remove: 'أزل حسابي',
  removeWords: 'نزّل ما لديك قبل ذلك، إن كنت قد تحتاجه لاحقًا.',
  removeOpen: 'أزل حسابي …',
  removeQuestion: 'هل تزيل حسابك؟',
  goes: 'يذهب معه، فورًا ونهائيًا:',
  goesSignIns: 'جلساتك في كل مكان، ومفاتيح API واتصالات MQTT',
  goesRules: 'إشعاراتك ورسائلك ومشاريعك',
  goesShares: 'ما تشاركه مع غيرك، وما يشاركه غيرك معك',
  noWayBack: 'لا يستطيع أحد إعادته، ولا مشرف.',
  owns: (what) => `أنت تملك ${what}. ماذا يصير به؟`,
  next: 'تابع',
  lastWords: 'كلمة مرورك، ويزول الحساب.',
  lastWordsDelete: (what) => `يُزال حسابك، و${what} مع كل القيم.`,
  lastWordsTransfer: (what, to) => `يُزال حسابك؛ وينال ${to} ${what} مع كل القيم.`,
  passwordMissing: 'أدخل كلمة مرورك.',
  removed: 'زال حسابك.',
};
