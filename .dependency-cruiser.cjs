// The floors of ARCHITECTURE.md as rules, run by `npm run check`. test/process/project/tooling.test.ts plants a breach of each one
// and expects to be told, because a checker that sees no modules passes everything.
//
//   base < domain < engines, delivery, http, mqtt (never each other) < server.ts < cli < main.ts
//
// `import type` counts like any other import. Tests stand above all floors: they may import anything, nothing may
// import them. To let the domain use a pure npm package, add it to `purePackages` and write a decision.

const purePackages = ['libphonenumber-js'];
const pureBuiltins = ['crypto'];

// The order of nouns: each folder of src/domain may import those before it, and no folder that stands behind it.
// What every noun uses (scopes, device keys, remembered) lies beside the folders and comes before all of them.
const nouns = [
  'callers',
  'kinds',
  'users',
  'permissions',
  'settings',
  'nodes',
  'keys',
  'quotas',
  'devices',
  'sensors',
  'gateways',
  'clients',
  'projects',
  'accounts',
  'datapoints',
  'actuators',
  'live',
  'alarms',
  'notifications',
];

// The order of the parts of the embedded engine, likewise. What a part needs of a later one is handed to it by open.ts or
// by the thread that it runs in, as an interface that lies in the earlier one.
const parts = ['database', 'log', 'reads', 'sealing', 'coordination', 'threads', 'mqtt', 'check', 'backup', 'move'];

// And of the engine on PostgreSQL, likewise.
const postgresParts = ['database', 'registry', 'coordination', 'log', 'reads', 'sealing', 'threads', 'mqtt', 'move'];

// The order of the parts of http, likewise; http-server.ts and services.ts beside them stand above. Versions come after all.
const httpParts = ['schemas', 'server', 'sign-in', 'lists', 'import', 'dashboard', 'docs', 'fast-path'];

const tests = '[.](test|suite)[.]ts$';
const limits = '^src/config/limits[.]ts$';

const forbidden = [
  {
    name: 'base-is-the-lowest-floor',
    comment: 'base serves every floor, so it knows none of them.',
    from: { path: '^src/base/', pathNot: tests },
    to: { path: '^(src|test|bench|scripts)/', pathNot: ['^src/base/', limits] },
  },
  {
    name: 'domain-knows-only-base',
    comment: 'The domain is the service in its own words. Give it a port (a small interface) instead.',
    from: { path: '^src/domain/', pathNot: tests },
    to: { path: '^(src|test|bench|scripts)/', pathNot: ['^src/(base|domain)/', limits] },
  },
  {
    name: 'domain-imports-no-packages',
    comment: 'No sockets, no SQL, no framework in the domain; types of packages count too.',
    from: { path: '^src/domain/', pathNot: tests },
    to: {
      path: '(^|/)node_modules/',
      pathNot: purePackages.map((name) => `(^|/)node_modules/${name}/`),
    },
  },
  {
    name: 'domain-imports-no-builtins',
    comment: 'Time, files, sockets and threads come in through base or a port.',
    from: { path: '^src/domain/', pathNot: tests },
    to: { dependencyTypes: ['core'], pathNot: pureBuiltins.map((name) => `^(node:)?${name}$`) },
  },
  {
    name: 'words-of-all-nouns-know-none',
    comment: 'A file beside the folders of src/domain is used by every noun, so it knows only base.',
    from: { path: '^src/domain/[^/]+[.]ts$', pathNot: tests },
    to: { path: '^src/domain/[^/]+/' },
  },
  {
    name: 'every-noun-has-its-place',
    comment: 'A new folder of src/domain is put into the order of nouns, in this file and in ARCHITECTURE.md.',
    from: { path: `^src/domain/(?!(ports|${nouns.join('|')})/)[^/]+/` },
    to: { path: '.' },
  },
  ...nouns.slice(0, -1).map((noun, place) => ({
    name: `${noun}-know-no-later-noun`,
    comment: 'Nouns have one order; what goes against it moves to the later noun, or is handed in as a port.',
    from: { path: `^src/domain/${noun}/`, pathNot: tests },
    to: { path: `^src/domain/(${nouns.slice(place + 1).join('|')})/` },
  })),
  {
    name: 'ports-are-types',
    comment:
      'A port says what the domain needs of an engine, in the words of all nouns: it has no code, and needs none.',
    from: { path: '^src/domain/ports/', pathNot: tests },
    to: { path: '.', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'rules-know-no-outbox',
    comment: 'A firing goes one way: rules are evaluated by watching/, which fills the outbox. rules/ serves both.',
    from: { path: '^src/domain/notifications/rules/', pathNot: tests },
    to: { path: '^src/domain/notifications/(outbox|watching)/' },
  },
  {
    name: 'outbox-knows-no-watching',
    comment: 'Watching wakes the outbox; the outbox tells watching nothing.',
    from: { path: '^src/domain/notifications/outbox/', pathNot: tests },
    to: { path: '^src/domain/notifications/watching/' },
  },
  {
    name: 'edges-never-meet',
    comment: 'engines, delivery, http and mqtt know base and domain, never each other nor what wires them.',
    from: { path: '^src/(engines|delivery|http|mqtt)/', pathNot: tests },
    to: { path: '^(src|test|bench|scripts)/', pathNot: ['^src/(base|domain|$1)/', limits] },
  },
  {
    name: 'engines-share-downwards',
    comment: 'engines/shared is what every engine is built from; it knows none of them.',
    from: { path: '^src/engines/shared/', pathNot: tests },
    to: { path: '^src/engines/', pathNot: '^src/engines/shared/' },
  },
  {
    name: 'engines-never-meet',
    comment: 'An engine knows engines/shared and itself: the service runs with any one of them.',
    from: { path: '^src/engines/(?!shared/)([^/]+)/', pathNot: tests },
    to: { path: '^src/engines/', pathNot: '^src/engines/(shared|$1)/' },
  },
  {
    name: 'engines-have-one-door',
    comment:
      'The service knows the ports of src/domain/ports; src/engines/open.ts decides which engine is behind them.',
    from: { path: '^src/', pathNot: ['^src/engines/', tests] },
    to: { path: '^src/engines/', pathNot: '^src/engines/open[.]ts$' },
  },
  {
    name: 'every-part-has-its-place',
    comment: 'A new folder of the embedded engine is put into the order of parts, in this file and in ARCHITECTURE.md.',
    from: { path: `^src/engines/embedded/(?!(${parts.join('|')})/)[^/]+/` },
    to: { path: '.' },
  },
  {
    name: 'parts-know-not-who-opens-them',
    comment: 'open.ts and what lies beside it put the parts of the embedded engine together.',
    from: { path: '^src/engines/embedded/[^/]+/', pathNot: tests },
    to: { path: '^src/engines/embedded/[^/]+[.]ts$' },
  },
  ...parts.slice(0, -1).map((part, place) => ({
    name: `${part}-knows-no-later-part`,
    comment: 'Parts of the embedded engine have one order; what goes against it is handed in as an interface.',
    from: { path: `^src/engines/embedded/${part}/`, pathNot: tests },
    to: { path: `^src/engines/embedded/(${parts.slice(place + 1).join('|')})/` },
  })),
  {
    name: 'every-part-on-postgres-has-its-place',
    comment:
      'A new folder of the engine on PostgreSQL is put into the order of parts, in this file and in ARCHITECTURE.md.',
    from: { path: `^src/engines/postgres/(?!(${postgresParts.join('|')})/)[^/]+/` },
    to: { path: '.' },
  },
  {
    name: 'parts-on-postgres-know-not-who-opens-them',
    comment: 'open.ts and what lies beside it put the parts of the engine on PostgreSQL together.',
    from: { path: '^src/engines/postgres/[^/]+/', pathNot: tests },
    to: { path: '^src/engines/postgres/[^/]+[.]ts$' },
  },
  ...postgresParts.slice(0, -1).map((part, place) => ({
    name: `${part}-knows-no-later-part-on-postgres`,
    comment: 'Parts of the engine on PostgreSQL have one order; what goes against it is handed in as an interface.',
    from: { path: `^src/engines/postgres/${part}/`, pathNot: tests },
    to: { path: `^src/engines/postgres/(${postgresParts.slice(place + 1).join('|')})/` },
  })),
  {
    name: 'every-part-of-http-has-its-place',
    comment: 'A new folder of src/http is put into the order of its parts, in this file and in ARCHITECTURE.md.',
    from: { path: `^src/http/(?!(${httpParts.join('|')}|v1|v2)/)[^/]+/` },
    to: { path: '.' },
  },
  ...httpParts.map((part, place) => ({
    name: `${part}-knows-no-later-part-of-http`,
    comment: 'Parts of http have one order; what two of them need lies in the earlier one.',
    from: { path: `^src/http/${part}/`, pathNot: tests },
    to: { path: `^src/http/(${[...httpParts.slice(place + 1), 'v1', 'v2'].join('|')})/|^src/http/[^/]+[.]ts$` },
  })),
  {
    name: 'versions-know-not-who-registers-them',
    comment: 'http-server.ts registers the routes of the versions, which are handed their services (services.ts).',
    from: { path: '^src/http/v[12]/', pathNot: tests },
    to: { path: '^src/http/[^/]+[.]ts$', pathNot: '^src/http/services[.]ts$' },
  },
  {
    name: 'packets-know-no-broker',
    comment: 'protocol/ and proxy/ of mqtt are about bytes and connections; what they mean is above them.',
    from: { path: '^src/mqtt/(protocol|proxy)/', pathNot: tests },
    to: { path: '^src/mqtt/[^/]+[.]ts$' },
  },
  {
    name: 'versions-never-meet',
    comment: 'v1 translates the routes that http-server.ts hands it; what both need lies in src/http/.',
    from: { path: '^src/http/v([12])/' },
    to: { path: '^src/http/v[12]/', pathNot: '^src/http/v$1/' },
  },
  {
    name: 'version-1-only-translates',
    comment:
      'It has words and no permission, rule or SQL of its own; of the domain it needs the names of rights alone.',
    from: { path: '^src/http/v1/', pathNot: tests },
    to: { path: '^src/domain/', pathNot: '^src/domain/scopes[.]ts$' },
  },
  {
    name: 'config-is-read-where-parts-are-wired',
    comment: 'Only server.ts, main.ts and the command-line verbs read the configuration; others are handed their part.',
    from: { path: '^src/', pathNot: ['^src/config/', '^src/cli/', '^src/(server|main)[.]ts$', '^src/wiring/', tests] },
    to: { path: '^src/config/', pathNot: limits },
  },
  {
    name: 'config-knows-only-base',
    comment: 'Strings in, a frozen object out. Types of the domain are welcome, its code is not needed.',
    from: { path: '^src/config/', pathNot: [tests, limits] },
    to: { path: '^src/', pathNot: '^src/(base|config)/', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'config-knows-no-edge',
    comment: 'What an edge is told of the configuration is typed here, not there.',
    from: { path: '^src/config/', pathNot: tests },
    to: { path: '^src/(?!(base|config|domain)/)' },
  },
  {
    name: 'limits-are-constants',
    comment: 'Any floor may import config/limits.ts, because it imports nothing.',
    from: { path: limits },
    to: { path: '.' },
  },
  {
    name: 'server-is-above-all-but-main',
    comment: 'server.ts wires the parts; only main.ts and the command-line verbs start it.',
    from: { path: '^src/', pathNot: ['^src/cli/', '^src/main[.]ts$', tests] },
    to: { path: '^src/server[.]ts$' },
  },
  {
    name: 'wiring-is-of-the-server',
    comment: 'wiring/ is a part of server.ts.',
    from: { path: '^src/', pathNot: ['^src/server[.]ts$', '^src/wiring/', tests] },
    to: { path: '^src/wiring/' },
  },
  {
    name: 'server-knows-no-verbs',
    comment: 'Command-line verbs are used by main.ts alone.',
    from: { path: '^src/', pathNot: ['^src/cli/', '^src/main[.]ts$', tests] },
    to: { path: '^src/cli/' },
  },
  {
    name: 'nothing-imports-main',
    comment: 'main.ts acts when it is loaded, which is for bin/dundun.js alone.',
    from: { pathNot: '^bin/dundun[.]js$' },
    to: { path: '^src/main[.]ts$' },
  },
  {
    name: 'nothing-imports-tests',
    comment: 'What tests share lies in test/ or in a *.suite.ts file; the service does not load it.',
    from: { path: '^src/', pathNot: tests },
    to: { path: ['^test/', '^src/.*[.](test|suite)[.]ts$'] },
  },
  {
    name: 'no-development-packages',
    comment: 'The service runs after `npm ci --omit=dev`.',
    from: { path: '^src/', pathNot: tests },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: 'node_modules/@types/' },
  },
  {
    name: 'the-dashboard-is-a-client',
    comment: 'It knows the service by its API alone, and nothing of the service knows it.',
    from: { path: '^dashboard/' },
    to: { path: '^(src|test|bench|scripts)/' },
  },
  {
    name: 'nothing-imports-the-dashboard',
    comment: 'The server serves what was built of it.',
    from: { path: '^(src|test|bench|scripts)/' },
    to: { path: '^dashboard/' },
  },
  {
    name: 'features-never-meet',
    comment: 'What two screens need lies in shared/ or api/.',
    from: { path: '^dashboard/src/features/([^/]+)/' },
    to: { path: '^dashboard/src/features/', pathNot: '^dashboard/src/features/$1/' },
  },
  {
    name: 'features-know-no-app',
    comment: 'app/ puts features together; a feature reads its own address by getRouteApi.',
    from: { path: '^dashboard/src/(features|shared|api|strings|theme)/' },
    to: { path: '^dashboard/src/(app/|main)' },
  },
  {
    name: 'shared-is-below-features',
    comment: 'Parts of screens know no screen.',
    from: { path: '^dashboard/src/(shared|api|strings|theme)/' },
    to: { path: '^dashboard/src/features/' },
  },
  {
    name: 'dashboard-api-draws-nothing',
    comment: 'api/ talks to the server; it needs no part of a screen.',
    from: { path: '^dashboard/src/api/' },
    to: { path: '^dashboard/src/(shared|strings|theme)/' },
  },
  {
    name: 'no-cycles',
    comment: 'Two files that need each other are one file, or need a third below both.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-unresolved',
    comment: 'An import that leads nowhere would hide from every other rule.',
    from: {},
    // What vite.config.ts makes itself is no file.
    to: { couldNotResolve: true, pathNot: '^virtual:' },
  },
  {
    name: 'no-barrels',
    comment: 'Import from the file that has it.',
    from: {},
    to: { path: '^(src|test|bench|scripts|dashboard/src).*/index[.]' },
  },
  {
    name: 'no-vague-names',
    comment: 'A file is named after what it exports, never utils, helpers, common or manager.',
    from: {},
    to: { path: '^(src|test|bench|scripts|dashboard/src).*[/-](utils?|helpers?|common|managers?)[-./]' },
  },
];

module.exports = {
  forbidden: forbidden.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: 'node_modules' },
    // Before compilation, so that `import type` obeys the floors as well.
    tsPreCompilationDeps: true,
    skipAnalysisNotInRules: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
    cache: false,
  },
};
