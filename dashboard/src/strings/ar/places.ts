import type { Strings } from '../catalogue.ts';
import { countedInArabic } from '../plural.ts';
import { nouns } from './nouns.ts';

export const places: Strings['places'] = {
  title: 'الخريطة',
  empty: 'ليس لأي جهاز موقع بعد.',
  emptyWords: 'حدّد موقعًا في صفحة جهاز، أو دعه يرسل مكانه.',
  toDevices: 'إلى الأجهزة',
  legend: 'ما تقوله الألوان',
  count: (shown, total) =>
    shown < total
      ? `${countedInArabic(shown, nouns.device)} من ${total} لها موقع`
      : `${countedInArabic(shown, nouns.device)} مع موقع`,
  showOrHide: 'أظهرها أو اتركها',
};
