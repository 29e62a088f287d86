// The head of a push to one sensor, `devices/{d}/sensors/{s}`; the body goes behind it.
export function pushHead(
  sensor: string,
  { token, length }: { readonly token: string; readonly length: number },
): string {
  return `POST /api/v2/${sensor}/values HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
}
