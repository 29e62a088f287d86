// What the domain needs of a log: facts as fields, never credentials or payloads. pino fits it.

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
