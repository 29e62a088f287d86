// The log as the domain sees it: facts as fields, never credentials or payloads. A message is a constant text, because lines
// of the same level and message are one kind, and each kind has a rate (rate-limited-log.ts): what varies is a field.

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Why the process ends. Never suppressed. */
  fatal(fields: object, message: string): void;
  /** Who changed what as an admin, at level info. Never suppressed. */
  audit(fields: object, message: string): void;
}
