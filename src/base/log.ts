// The log as the domain sees it: facts as fields, never credentials or payloads. pino implements it.

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
