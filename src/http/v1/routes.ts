// Version 1 is version 2 under older names: the routes that version 2 registers are also added under their older paths.
// Requests are translated before validation, answers after they were made; permissions, rules and bounds are thus the
// same. Called by api.ts.
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify';
import { describeBody } from '../docs/openapi.ts';
import type { TypedApp } from '../server/routes.ts';
import { describeInOlderWords, describePath, describeUnderDomain } from './description.ts';
import {
  toNewerDevice,
  toNewerNotification,
  toNewerSensor,
  toOlderDevice,
  toOlderNotification,
  toOlderSensor,
  translateFilter,
} from './records.ts';
import { toOlderPath } from './words.ts';

const device = '/devices/:device';
const sensor = `${device}/sensors/:sensor`;
const rule = '/notifications/:notification';
const deviceFields = ['name', 'gateway_id', 'domain', 'location', 'visibility'];
const sensorFields = ['name', 'sensing_device', 'quantity_kind', 'unit'];

/** The routes of version 2 that exist in version 1 (spec 4.3, contract 9), beside those matched by `asTheyAre`. */
const known = [
  'POST /devices',
  'GET /devices',
  `GET ${device}`,
  `DELETE ${device}`,
  ...deviceFields.map((field) => `PUT ${device}/${field}`),
  `POST ${device}/sensors`,
  `GET ${device}/sensors`,
  `GET ${sensor}`,
  `DELETE ${sensor}`,
  ...sensorFields.map((field) => `PUT ${sensor}/${field}`),
  `POST ${sensor}/values`,
  `POST ${sensor}/value`,
  `GET ${sensor}/values`,
  'POST /notifications',
  'GET /notifications',
  `GET ${rule}`,
  `PATCH ${rule}`,
  `DELETE ${rule}`,
  `PUT ${rule}/status`,
];

/** Groups of routes that need no translation, without those new in version 2. */
const asTheyAre = /^\/(users|socials)(?!.*\/(quota|keys|sessions|received|confirmation|removal|export)(\/|$))(\/|$)/;

/** The prefix of version 1.0 paths; the domain in it is ignored (contract 9). */
export const domainPath = '/domains/:domain';

/** Conversions of requests to version 2, by method and path of version 2. */
const requests: { readonly [route: string]: (request: FastifyRequest, options: { isDomainFixed: boolean }) => void } = {
  'POST /devices': (request, options) => {
    request.body = toNewerDevice(request.body, options);
  },
  [`POST ${device}/sensors`]: (request) => {
    request.body = toNewerSensor(request.body);
  },
  'GET /devices': (request) => translateFilter(request, { isDeep: false }),
  'POST /notifications': (request) => {
    request.body = toNewerNotification(request.body);
  },
  [`PATCH ${rule}`]: (request) => {
    request.body = toNewerNotification(request.body);
  },
  'GET /notifications': (request) => translateFilter(request, { isDeep: true }),
};

type Record = { readonly [key: string]: unknown };
type Register = (url: string, options: Partial<RouteOptions>, handler: RouteOptions['handler']) => unknown;

const methods = { get: 'GET', post: 'POST', put: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const;

/** Stands in for the app when version 2 registers its routes: adds those of version 1 to `app`. */
export function inOlderWords(app: TypedApp, missing = new Set(known)): { app: TypedApp; missing: ReadonlySet<string> } {
  const add =
    (method: string): Register =>
    (url, options, handler) => {
      const name = `${method} ${url}`;
      if (!missing.delete(name) && !asTheyAre.test(url)) return;
      const path = toOlderPath(url);
      app.route(toOlderRoute(name, { ...options, method, url: path, handler } as RouteOptions));
      app.route(toOlderRoute(name, { ...options, method, url: domainPath + path, handler } as RouteOptions));
    };
  const stand = new Proxy(app, {
    get(target, key) {
      if (Object.hasOwn(methods, key)) return add(methods[key as keyof typeof methods]);
      if (key === 'withTypeProvider') return () => stand;
      // Version 2 registers its stop hooks itself; other hooks apply here too.
      if (key === 'addHook') {
        return (hook: 'onRequest', act: () => void) =>
          hook === ('preClose' as string) ? stand : target.addHook(hook, act);
      }
      if (key === 'register') {
        return (plugin: (inner: unknown, options: object, done: () => void) => void) =>
          target.register((inner, options, done) =>
            plugin(inOlderWords(inner as never, missing).app, options as object, done),
          );
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { app: stand, missing };
}

function toOlderRoute(name: string, route: RouteOptions): RouteOptions {
  const isDomainFixed = route.url.startsWith(domainPath);
  const translate = requests[name];
  return {
    ...route,
    config: {
      ...route.config,
      ...describedBy(route, { isUnderDomain: isDomainFixed }),
      ...(name === 'GET /devices' ? { toAnsweredRecord: toOlderDevice } : {}),
      ...(name === 'GET /notifications' ? { toAnsweredRecord: toOlderNotification } : {}),
    } as never,
    preValidation: [
      (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
        if (isDomainFixed) delete (request.params as { domain?: string }).domain;
        translate?.(request, { isDomainFixed });
        done();
      },
      ...[route.preValidation ?? []].flat(),
    ] as never,
    preSerialization: (_request, reply, payload, done) => {
      // Errors have their older form already (../errors.ts).
      done(null, reply.statusCode < 400 ? toOlderAnswer(name, payload) : payload);
    },
    onSend: (_request, reply, payload, done) => {
      answerAs200(reply);
      done(null, payload);
    },
  };
}

/** Conversions of answered records, by path of version 2. */
const answers: readonly (readonly [path: RegExp, toOlder: (record: Record) => Record])[] = [
  [/^\/devices(\/:device)?$/, toOlderDevice],
  [/^\/devices\/:device\/sensors(\/:sensor)?$/, toOlderSensor],
  [/^\/notifications(\/:notification)?$/, toOlderNotification],
];

function toOlderAnswer(name: string, payload: unknown): unknown {
  const [, path = ''] = name.split(' ');
  const toOlder = answers.find(([known]) => known.test(path))?.[1];
  if (toOlder === undefined || typeof payload !== 'object' || payload === null) return payload;
  return Array.isArray(payload) ? payload.map(toOlder) : toOlder(payload as Record);
}

/** All successes answer 200 (contract 9), with links into version 1. */
function answerAs200(reply: FastifyReply): void {
  if (reply.statusCode === 201 || reply.statusCode === 204) reply.code(200);
  const location = reply.getHeader('location');
  if (typeof location !== 'string') return;
  reply.header('location', `/api/v1${toOlderPath(location.replace(/^\/api\/v2/, ''))}`);
}

/** The route's description in the reference. */
function describedBy(route: RouteOptions, { isUnderDomain }: { readonly isUnderDomain: boolean }): object {
  const describe = (schema: FastifySchema) => describeBody(describeInOlderWords(schema));
  return {
    swaggerTransform: ({ schema, url }: { readonly schema: FastifySchema; readonly url: string }) => ({
      schema: isUnderDomain ? describeUnderDomain(describe(route.schema ?? schema)) : describe(route.schema ?? schema),
      url: describePath(url),
    }),
  };
}
