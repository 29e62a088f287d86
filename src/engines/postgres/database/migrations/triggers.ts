// Text of triggers in PL/pgSQL, as migrations of PostgreSQL write them: a function and its trigger under one name.

/** @param event such as `AFTER INSERT ON device`. @param body statements, each with its semicolon. */
export function trigger(name: string, event: string, body: string): string[] {
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$`,
    `CREATE TRIGGER ${name} ${event} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  ];
}

/** Statements that run only under a condition. */
export function onlyIf(condition: string, body: string): string {
  return `IF ${condition} THEN ${body} END IF;`;
}
