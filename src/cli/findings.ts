// Formats findings of checks for the terminal and as JSON; for the verbs check, backup and restore.
import type { CheckReport, FindingLocation } from '../domain/ports/maintenance.ts';

export function countFindings(reports: readonly CheckReport[]): number {
  return reports.reduce((sum, { findings }) => sum + findings.length, 0);
}

export function printFindings(reports: readonly CheckReport[], print: (line: string) => void): void {
  for (const { name, findings } of reports) {
    for (const { what, where, advice } of findings) {
      const place = where === undefined ? '' : ` (${placeInWords(where)})`;
      print(`${name}: ${what}${place}\n  ${advice}`);
    }
  }
}

/** The reports with times in the form of the API. */
export function findingsAsJson(reports: readonly CheckReport[]): object[] {
  return reports.map(({ findings, ...report }) => ({
    ...report,
    findings: findings.map(({ where, ...finding }) => ({ ...finding, where: where && placeAsJson(where) })),
  }));
}

function placeInWords({ table, sensor, deviceId, sensorId, fromMs, toMs }: FindingLocation): string {
  const parts = [
    table && `table ${table}`,
    deviceId && `device ${deviceId}, sensor ${sensorId}`,
    sensor && `sensor number ${sensor}`,
    fromMs !== undefined && `from ${timeOf(fromMs)} to ${timeOf(toMs)}`,
  ];
  return parts.filter((part) => typeof part === 'string').join(', ');
}

function placeAsJson({ fromMs, toMs, ...place }: FindingLocation): object {
  return { ...place, from: timeOf(fromMs), to: timeOf(toMs) };
}

/** An invalid time is shown as its number. */
function timeOf(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
