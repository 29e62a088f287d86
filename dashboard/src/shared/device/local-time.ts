// Times as fields of the browser have them (`datetime-local`): `2026-01-15T12:00:00`, in local time.

export function localText(ms: number): string {
  const at = new Date(ms);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
