// Holds that every regular expression of the service takes time in proportion to the text it meets, since texts come
// from outside (recheck proves it). Part of `npm run check`; named folders are looked at in place of src. What is not
// proven fails, and so does a pattern that is put together while the service runs, unless it stands in a list here with
// the reason why that is fine. Verdicts are kept in node_modules/.cache, because the first look takes half a minute.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';

// Its part in plain JavaScript: no other program is started.
process.env['RECHECK_BACKEND'] = 'pure';
const { checkSync } = await import('recheck');
const { version } = createRequire(import.meta.url)('recheck/package.json') as { readonly version: string };

/** Patterns that take longer than in proportion, and why nobody can make use of that. */
const bounded: Readonly<Record<string, string>> = {
  'src/http/v1/words.ts': 'Its texts have at most limits.olderProseCharsMax characters.',
};

/** Patterns that are put together, by file, and of what. */
const putTogether: Readonly<Record<string, string>> = {
  'src/base/time/timestamp.ts': 'Digits of fixed numbers between constants, and one fraction of at most nine.',
  'src/domain/keys/keys.ts': 'A constant prefix and a class of fixed length.',
  'src/domain/notifications/rules/expression-parser.ts': 'One class of characters, repeated, of constants.',
  'src/domain/users/username.ts': 'One class of characters with a bound, and lookarounds of fixed length.',
  'src/http/schemas/ids.ts': 'The pattern of ids, whose texts have at most limits.idCharsMax characters.',
  'src/http/server/wrong-method.ts': 'Made of our own routes; each step stops at the next slash.',
  'src/engines/embedded/backup/make-backup.ts': 'Constants, for names of files in the folder of backups.',
};

interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly isLiteral: boolean;
}

const folders = process.argv.length > 2 ? process.argv.slice(2) : ['src'];
/** Long enough for a machine that does much else: what is not found out in time is a fault. */
const timeoutMs = 60_000;
const cacheFolder = join('node_modules', '.cache');
const cacheFile = join(cacheFolder, `dundun-patterns-${version}.json`);
const known = readVerdicts();

const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`)).filter((file) => !file.endsWith('.test.ts'));
const found = files.sort().flatMap(patternsIn);
const faults = found.flatMap((one) => {
  const reason = one.isLiteral ? faultOfLiteral(one) : faultOfMade(one);
  return reason === undefined ? [] : [`${one.file}:${one.line}: ${one.text} ${reason}`];
});
mkdirSync(cacheFolder, { recursive: true });
writeFileSync(cacheFile, JSON.stringify(Object.fromEntries(known), undefined, 1));
for (const fault of faults) console.log(fault);
console.log(
  `${found.length} patterns in ${files.length} files, ${faults.length} of them not fit for texts from outside.`,
);
// A folder without a single pattern was not read.
if (faults.length > 0 || found.length === 0) process.exitCode = 1;

function patternsIn(file: string): Found[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const patterns: Found[] = [];
  const look = (node: ts.Node): void => {
    const isLiteral = ts.isRegularExpressionLiteral(node);
    const isMade = (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';
    if (isLiteral || isMade) {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      patterns.push({ file: file.replaceAll('\\', '/'), line, text: node.getText(), isLiteral });
    }
    ts.forEachChild(node, look);
  };
  look(source);
  return patterns;
}

function faultOfLiteral({ file, text }: Found): string | undefined {
  let verdict = known.get(text);
  if (verdict === undefined) {
    const end = text.lastIndexOf('/');
    // What no proof is found for is tried with texts drawn by chance: the same ones each time.
    const proof = checkSync(text.slice(1, end), text.slice(end + 1), {
      timeout: timeoutMs,
      incubationTimeout: timeoutMs,
      attackTimeout: timeoutMs,
      randomSeed: 1,
    });
    verdict = proof.status === 'vulnerable' ? `vulnerable (${proof.complexity.summary})` : proof.status;
    // What was not found out in time may be on a machine with less to do.
    if (proof.status !== 'unknown') known.set(text, verdict);
  }
  if (verdict === 'safe' || Object.hasOwn(bounded, file)) return undefined;
  return `is ${verdict}. Read the text piece by piece, or write a pattern that cannot match one text in several ways.`;
}

function faultOfMade({ file }: Found): string | undefined {
  if (Object.hasOwn(putTogether, file)) return undefined;
  return 'is put together while the service runs. Read the text piece by piece, or list it in scripts/check-patterns.ts.';
}

function readVerdicts(): Map<string, string> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(cacheFile, 'utf8')) as Record<string, string>));
  } catch {
    return new Map();
  }
}
