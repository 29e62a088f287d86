// What was not stored, line by line, with the server's reasons.
import { Table, Text, Title } from '@mantine/core';
import { usePageLocale } from '../../strings/strings.ts';
import type { ImportAnswer } from './import-call.ts';
import { saidWords } from './import-words.ts';
import classes from './imports.module.css';

export function RefusedLines({ answer }: { readonly answer: ImportAnswer }) {
  const locale = usePageLocale();
  const { imports } = locale.strings;
  const { refused, refused_count: count } = answer;
  if (count === 0) return null;
  return (
    <div>
      <Title order={3} fz={16} mb="xs" id="refused">
        {imports.refusedTitle}
      </Title>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keys as well. */}
      <section className={classes.refused} tabIndex={0} aria-labelledby="refused">
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{imports.line}</Table.Th>
              <Table.Th>{imports.why}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {refused.map(({ line, column, detail, ...said }) => (
              <Table.Tr key={`${line}/${column}/${detail}`}>
                <Table.Td>{line}</Table.Td>
                <Table.Td>{saidWords(locale, said, detail)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
      {count > refused.length && (
        <Text fz="sm" c="dimmed" mt={4}>
          {imports.refusedMore(count - refused.length)}
        </Text>
      )}
    </div>
  );
}
