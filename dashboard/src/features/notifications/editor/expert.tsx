// The same condition as an expression, for experts, with what may stand in one.
import { Anchor, Collapse, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Form } from '../../../shared/form/use-form.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { type Draft, withExpression } from './draft.ts';
import classes from './editor.module.css';

export function Expert({ form, fault }: { readonly form: Form<Draft>; readonly fault: string | undefined }) {
  const { notifications } = usePageStrings();
  const [isHelping, { toggle }] = useDisclosure(false);
  const { onBlur } = form.field('expression');
  return (
    <div className={classes.expert}>
      <TextInput
        label={notifications.expression}
        description={notifications.expressionMeans}
        placeholder="TC<2;RH>80"
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        value={form.values.expression}
        onBlur={onBlur}
        error={fault}
        onChange={(event) => {
          const next = withExpression(event.currentTarget.value);
          form.set('clauses', next.clauses);
          form.set('expression', next.expression);
        }}
      />
      <Anchor component="button" type="button" fz="sm" mt={8} aria-expanded={isHelping} onClick={toggle}>
        {notifications.grammar}
      </Anchor>
      <Collapse expanded={isHelping}>
        <dl className={classes.grammar}>
          {notifications.grammarLines.map(({ example, means }) => (
            <div key={example} style={{ display: 'contents' }}>
              <dt>{example}</dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      </Collapse>
    </div>
  );
}
