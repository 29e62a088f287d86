/** An id or a name as one value of a filter (`q`), where a comma begins another and %2C stands for a comma. */
export function filterValue(text: string): string {
  return text.replaceAll(/%(?=(25)*2C)/gi, '%25').replaceAll(',', '%2C');
}
