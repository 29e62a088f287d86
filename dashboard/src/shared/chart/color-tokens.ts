// The colours of theme.css as canvases need them, of the scheme in use.
import { useComputedColorScheme } from '@mantine/core';
import { useMemo } from 'react';
import { limits } from '../../limits.ts';

export interface ColorTokens {
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly ground: string;
  readonly accent: string;
  readonly good: string;
  readonly bad: string;
  readonly series: readonly string[];
}

export function useColorTokens(): ColorTokens {
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the style sheet answers by the scheme.
  return useMemo(readTokens, [scheme]);
}

function readTokens(): ColorTokens {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--d-${name}`).trim();
  return {
    ...{ text: read('text'), quiet: read('quiet'), line: read('line'), ground: read('ground') },
    ...{ accent: read('accent'), good: read('good'), bad: read('bad') },
    series: Array.from({ length: limits.chartSeriesMax }, (_, index) => read(`series-${index + 1}`)),
  };
}
