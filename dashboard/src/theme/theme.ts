// The look of the dashboard as Mantine takes it: one accent (a drum's red-orange), system fonts, tabular figures.
// Colours of state (good, bad) and of surfaces are variables in theme.css, for our own styles as well.
import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core';

const drum: MantineColorsTuple = [
  '#fff1eb',
  '#ffdfd3',
  '#ffbda6',
  '#ff9877',
  '#ff8a5c',
  '#f2693a',
  '#d4471c',
  '#b83a12',
  '#9a300f',
  '#7a260c',
];

/** What cannot be undone; shades 4 and 7 are --d-bad of dark and light, which can be read on their grounds. */
const red: MantineColorsTuple = [
  '#fdeef1',
  '#fbd5dd',
  '#f7a9ba',
  '#ff94ac',
  '#ff7a98',
  '#e8476c',
  '#cc1f4a',
  '#b3123c',
  '#950d31',
  '#740a26',
];

/** Neutral, a touch warm, down to near-black. */
const dark: MantineColorsTuple = [
  '#ececee',
  '#c9c9ce',
  '#a0a0a8',
  '#84848c',
  '#4a4a51',
  '#36363b',
  '#27272b',
  '#1b1b1e',
  '#111113',
  '#0a0a0b',
];

const systemFonts = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";
const codeFonts = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

export const theme = createTheme({
  colors: { drum, red, dark },
  primaryColor: 'drum',
  primaryShade: { light: 7, dark: 4 },
  // What stands on the accent is light on the dark one and dark on the light one.
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    const isAccent = input.color === undefined || input.color === 'drum' || input.color === 'red';
    return input.variant === 'filled' && isAccent ? { ...colors, color: 'var(--d-on-accent)' } : colors;
  },
  fontFamily: systemFonts,
  fontFamilyMonospace: codeFonts,
  headings: { fontFamily: systemFonts, fontWeight: '650' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { fw: 600 } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45 } } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, events: { hover: true, focus: true, touch: false } } },
    TextInput: { defaultProps: { spellCheck: false, autoCapitalize: 'none' } },
  },
});

/** Mantine's own surfaces and texts are ours of theme.css. */
const surfaces = {
  '--mantine-color-body': 'var(--d-ground)',
  '--mantine-color-text': 'var(--d-text)',
  '--mantine-color-dimmed': 'var(--d-quiet)',
  '--mantine-color-placeholder': 'var(--d-quiet)',
  '--mantine-color-error': 'var(--d-bad)',
  '--mantine-color-anchor': 'var(--d-accent)',
  '--mantine-color-default': 'var(--d-ground)',
  '--mantine-color-default-hover': 'var(--d-hover)',
  '--mantine-color-default-border': 'var(--d-line)',
};

export const resolveVariables: CSSVariablesResolver = () => ({ variables: {}, light: surfaces, dark: surfaces });
