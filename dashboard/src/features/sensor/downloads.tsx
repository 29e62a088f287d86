// What is shown, to keep: CSV of the lines as drawn, every datapoint of the span, an image of the chart.
import { Button, Menu } from '@mantine/core';
import type uPlot from 'uplot';
import { saveFile } from '../../api/download.ts';
import type { SensorHistory } from '../../api/history.ts';
import type { ChartSeries } from '../../shared/chart/chart-series.ts';
import { useColorTokens } from '../../shared/chart/color-tokens.ts';
import type { Span } from '../../shared/chart/span.ts';
import type { SensorChoice } from '../../shared/chart/use-histories.ts';
import { Icon } from '../../shared/page/icon.tsx';
import { problemWords } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import { csvOf, pictureOf, readAllAsCsv, type StepWords } from './download.ts';
import { durationOf } from './step-words.ts';

export interface DownloadsProps {
  readonly place: SensorChoice | undefined;
  readonly series: readonly ChartSeries[];
  /** Each at the place of its line; undefined until it is there. */
  readonly histories: readonly (SensorHistory | undefined)[];
  readonly span: Span;
  readonly plot: uPlot | undefined;
}

export function Downloads({ place, series, histories, span, plot }: DownloadsProps) {
  const { strings, tag } = usePageLocale();
  const { sensor: words } = strings;
  const tokens = useColorTokens();
  if (place === undefined) return null;
  const name = `${place.device}-${place.sensor}`.replaceAll(/[^\w.-]+/g, '_');
  const said = (word: keyof StepWords) => (stepMs: number) => words.csvSteps[word](durationOf(stepMs, tag));
  const stepWords = { mean: said('mean'), lowest: said('lowest'), highest: said('highest'), sum: said('sum') };
  const saveShown = () => {
    const { fromMs, toMs } = span;
    // Where every datapoint was read, those that are no numbers are among the points.
    const lines = series.map((one, index) => {
      const { stepMs, others = [] } = histories[index] ?? {};
      return { ...one, stepMs, others: stepMs === undefined ? [] : others };
    });
    const text = csvOf(lines, { ...(fromMs === undefined ? {} : { fromMs }), toMs }, stepWords);
    saveFile(new Blob([text], { type: 'text/csv' }), `${name}.csv`);
  };
  const saveAll = async () => {
    try {
      saveFile(await readAllAsCsv(place, span), `${name}-all.csv`);
    } catch (error) {
      toasts.show({ text: problemWords(error, strings), isBad: true });
    }
  };
  const savePicture = async () => {
    const picture = plot === undefined ? null : await pictureOf(plot, series, tokens);
    if (picture !== null) saveFile(picture, `${name}.png`);
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="sm" leftSection={<Icon name="download" size={16} />}>
          {words.download}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={saveShown}>{words.csvShown}</Menu.Item>
        <Menu.Item onClick={() => void saveAll()}>{words.csvAll}</Menu.Item>
        <Menu.Item disabled={plot === undefined} onClick={() => void savePicture()}>
          {words.image}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
