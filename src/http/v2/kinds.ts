// Vocabularies for describing sensors and actuators. Public, because they are the same for everybody.
import { Type } from 'typebox';
import { type Kind, listKinds, unitsOf, type Vocabulary } from '../../domain/kinds/kinds.ts';
import { pageFrom } from '../lists/paging.ts';
import { AllOrPage, pageOf, refusals, type TypedApp } from '../server/routes.ts';

const shared = (id: string, label: string) => ({
  id: Type.String({ description: 'Id of the word.', examples: [id] }),
  label: Type.String({ description: 'What people call it, in English.', examples: [label] }),
});
const iri = (name: string) =>
  Type.String({ description: 'The address that names it in QUDT.', examples: [`http://qudt.org/vocab/${name}`] });
const quantityKinds = (description: string, example: string) =>
  Type.Array(Type.String({ examples: [example] }), { description });

const unitIds = (description: string) => Type.Array(Type.String({ examples: ['DEG_C'] }), { description });
const qk = (example: string) => quantityKinds('Another name for `quantity_kinds`.', example);

const lists: readonly {
  readonly vocabulary: Vocabulary;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly record: object;
}[] = [
  {
    vocabulary: 'sensor_kinds',
    operationId: 'listSensorKinds',
    summary: 'List kinds of sensors',
    description: 'For `sensing_device`. A table of the service itself; a sensor may hold any other text.',
    record: Type.Object(
      {
        ...shared('SoilTemperatureSensor', 'Soil thermometer'),
        quantity_kinds: quantityKinds('Ids of the quantity kinds that it usually measures.', 'Temperature'),
        qk: qk('Temperature'),
        units: unitIds('Ids of the units of these quantity kinds.'),
      },
      { title: 'SensorKind', description: 'A kind of sensor.' },
    ),
  },
  {
    vocabulary: 'quantity_kinds',
    operationId: 'listQuantityKinds',
    summary: 'List kinds of quantities',
    description: 'For `quantity_kind`: those of QUDT (qudt.org, CC BY 4.0). A sensor may hold any other text.',
    record: Type.Object(
      {
        ...shared('AtmosphericPressure', 'Atmospheric Pressure'),
        broader: quantityKinds('Ids of the broader quantity kinds, whose units it shares.', 'Pressure'),
        units: unitIds('Ids of the units in which it is measured, those of broader kinds among them.'),
        iri: iri('quantitykind/AtmosphericPressure'),
      },
      { title: 'QuantityKind', description: 'A kind of quantity: what can be measured.' },
    ),
  },
  {
    vocabulary: 'units',
    operationId: 'listUnits',
    summary: 'List units',
    description: 'For `unit`: those of QUDT (qudt.org, CC BY 4.0). A sensor may hold any other text.',
    record: Type.Object(
      {
        ...shared('DEG_C', 'Degree Celsius'),
        symbol: Type.String({ description: 'How it is written beside values.', examples: ['°C'] }),
        quantity_kinds: quantityKinds('Ids of the quantity kinds that it measures.', 'Temperature'),
        qk: qk('Temperature'),
        iri: iri('unit/DEG_C'),
      },
      { title: 'Unit', description: 'A unit of measurement.' },
    ),
  },
  {
    vocabulary: 'actuator_kinds',
    operationId: 'listActuatorKinds',
    summary: 'List kinds of actuators',
    description: 'For `actuator_kind`. A table of the service itself; an actuator may hold any other text.',
    record: Type.Object(
      {
        ...shared('Valve', 'Valve'),
        value_type: Type.String({ description: 'The type that its values usually have.', examples: ['bool'] }),
      },
      { title: 'ActuatorKind', description: 'A kind of actuator.' },
    ),
  },
];

const KindQueryString = Type.Object({
  label: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Only those with this in their label, id or symbol, in whatever case.',
    }),
  ),
  quantity_kind: Type.Optional(
    Type.String({ maxLength: 256, description: 'Only units and kinds of sensors for the quantity kind of this id.' }),
  ),
  ...AllOrPage.properties,
});

export function registerKinds(app: TypedApp): void {
  for (const { vocabulary, operationId, summary, description, record } of lists) {
    app.get(
      `/ontologies/${vocabulary}`,
      {
        schema: {
          tags: ['Kinds'],
          operationId,
          summary,
          description,
          querystring: KindQueryString,
          response: { 200: pageOf(record, { description: 'Words to choose from.', counted: true }), ...refusals },
        },
      },
      (request, reply) => {
        const { label, quantity_kind: quantityKind, ...page } = request.query;
        const kinds = listKinds(vocabulary, { text: label, quantityKind });
        return pageFrom(request, reply as never, kinds, page).map((kind) => toRecord(vocabulary, kind)) as never;
      },
    );
  }
}

function toRecord(vocabulary: Vocabulary, kind: Kind): object {
  const { id, label, symbol, quantityKinds: kinds, valueType, broader, iri: address } = kind;
  const units = { sensor_kinds: kinds, quantity_kinds: [id], units: undefined, actuator_kinds: undefined }[vocabulary];
  const words = { id, label, symbol, quantity_kinds: kinds, qk: kinds, broader, value_type: valueType, iri: address };
  return units === undefined ? words : { ...words, units: unitsOf(units) };
}
