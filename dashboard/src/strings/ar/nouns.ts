// Nouns that are counted in many places, in the forms that Arabic has for numbers.
import type { Forms } from '../plural.ts';

export const nouns = {
  device: { one: 'جهاز واحد', two: 'جهازان', few: '# أجهزة', many: '# جهازًا', other: '# جهاز' },
  sensor: { one: 'حساس واحد', two: 'حساسان', few: '# حساسات', many: '# حساسًا', other: '# حساس' },
  gateway: { one: 'بوابة واحدة', two: 'بوابتان', few: '# بوابات', many: '# بوابةً', other: '# بوابة' },
  datapoint: { one: 'قياس واحد', two: 'قياسان', few: '# قياسات', many: '# قياسًا', other: '# قياس' },
  rule: { one: 'إشعار واحد', two: 'إشعاران', few: '# إشعارات', many: '# إشعارًا', other: '# إشعار' },
  message: { one: 'رسالة واحدة', two: 'رسالتان', few: '# رسائل', many: '# رسالةً', other: '# رسالة' },
  client: { one: 'عميل واحد', two: 'عميلان', few: '# عملاء', many: '# عميلًا', other: '# عميل' },
  subscription: { one: 'اشتراك واحد', two: 'اشتراكان', few: '# اشتراكات', many: '# اشتراكًا', other: '# اشتراك' },
  byte: { one: 'بايت واحد', two: 'بايتان', few: '# بايتات', many: '# بايتًا', other: '# بايت' },
  value: { one: 'قيمة واحدة', two: 'قيمتان', few: '# قيم', many: '# قيمةً', other: '# قيمة' },
  day: { one: 'يوم واحد', two: 'يومان', few: '# أيام', many: '# يومًا', other: '# يوم' },
} satisfies Readonly<Record<string, Forms>>;
