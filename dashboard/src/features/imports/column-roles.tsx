// The columns of a file: what is in each, and what it is taken for, which can be changed.
import { NativeSelect, Text, TextInput, Title } from '@mantine/core';
import { plainText } from '../../api/plain-text.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { Columns } from './import-call.ts';
import classes from './imports.module.css';

type Roles = Readonly<Record<number, string>>;

export interface ColumnRolesProps {
  readonly columns: Columns;
  /** As said by hand; undefined: as found. */
  readonly roles: Roles | undefined;
  readonly onRoles: (roles: Roles) => void;
}

const words = ['timestamp', 'date', 'time', 'device', 'sensor', 'value', 'received', 'unit', 'ignore'] as const;
type Word = (typeof words)[number];

export function ColumnRoles({ columns, roles, onRoles }: ColumnRolesProps) {
  const { imports } = usePageStrings();
  // Once one is said, all are: what is not mapped would be left out.
  const now: Roles = roles ?? Object.fromEntries(columns.map(({ column, role }) => [column, role]));
  return (
    <div>
      <Title order={3} fz={16}>
        {imports.columns}
      </Title>
      <Text fz="sm" c="dimmed" mb="sm">
        {imports.columnsWords}
      </Text>
      <ul className={classes.columns}>
        {columns.map((column) => (
          <ColumnRow
            key={column.column}
            column={column}
            role={now[column.column] ?? 'ignore'}
            onRole={(role) => onRoles({ ...now, [column.column]: role })}
          />
        ))}
      </ul>
    </div>
  );
}

interface ColumnRowProps {
  readonly column: Columns[number];
  readonly role: string;
  readonly onRole: (role: string) => void;
}

function ColumnRow({ column, role, onRole }: ColumnRowProps) {
  const { imports } = usePageStrings();
  const name = plainText(column.name ?? '') || imports.column(column.column);
  const isSensor = !(words as readonly string[]).includes(role);
  const choose = (word: string) => onRole(word === '/' ? `/${sensorIdOf(column)}` : word);
  return (
    <li className={classes.column}>
      <div className={classes.columnWords}>
        <Text fw={600} truncate title={name}>
          {name}
        </Text>
        <Text fz="sm" c="dimmed" truncate>
          {column.examples.filter((example) => example !== '').join(' · ')}
        </Text>
      </div>
      <NativeSelect
        aria-label={imports.roleOf(name)}
        value={isSensor ? '/' : role}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          { value: '/', label: imports.roleSensor },
          ...words.map((word) => ({ value: word, label: labelOf(word, imports) })),
        ]}
      />
      {isSensor ? (
        <TextInput
          aria-label={imports.sensorOf(name)}
          placeholder={imports.sensorId}
          value={role.replace(/^\//, '')}
          onChange={(event) => onRole(roleOfText(event.currentTarget.value.trim()))}
        />
      ) : (
        <span />
      )}
    </li>
  );
}

/** `TC`, or `field-3/TC` for a sensor of another device. */
function roleOfText(text: string): string {
  return text.includes('/') ? text : `/${text}`;
}

function sensorIdOf({ name, column }: Columns[number]): string {
  const id = (name ?? '').replace(/[([].*$/, '').trim().replace(/[^\w.-]+/g, '_'); // biome-ignore format: one line
  return id === '' ? `column-${column}` : id;
}

function labelOf(word: Word, imports: Strings['imports']): string {
  if (word === 'device') return imports.deviceRole;
  return word === 'sensor' ? imports.sensorRole : imports[word];
}
