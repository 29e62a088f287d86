// A label for a device: its address as a QR code, drawn here, with its name and id. Dark on light in either scheme, because
// scanners ask for it. It can be printed and saved.
import { Button, Group, Text } from '@mantine/core';
import { useMemo, useRef } from 'react';
import { encode } from 'uqr';
import { saveFile } from '../../../api/download.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { useStrings } from '../../../strings/strings.ts';
import classes from './qr-label.module.css';

interface QrLabelProps {
  /** The address. */
  readonly text: string;
  readonly name: string;
  readonly id: string;
}

/** Squares beside the code, and below it for each line, in squares of the code. */
const lineHeight = 3;
/** Characters of a line: what is longer is cut, as a label has no room for it. */
const lineChars = 30;

export function QrLabel({ text, name, id }: QrLabelProps) {
  const { device: words } = useStrings();
  const label = useRef<SVGSVGElement>(null);
  const { size, path } = useMemo(() => {
    const code = encode(text, { border: 2 });
    const squares = code.data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size: code.size, path: squares.join('') };
  }, [text]);
  const lines = name === id ? [id] : [name, id];
  const save = () => {
    const file = new XMLSerializer().serializeToString(label.current as SVGSVGElement);
    saveFile(new Blob([file], { type: 'image/svg+xml' }), `${id}.svg`);
  };
  return (
    <>
      <svg
        ref={label}
        xmlns="http://www.w3.org/2000/svg"
        className={classes.label}
        viewBox={`0 0 ${size} ${size + lines.length * lineHeight}`}
        role="img"
        aria-label={words.qrLabel(text)}
      >
        <rect width="100%" height="100%" fill="#ffffff" />
        <path d={path} fill="#000000" shapeRendering="crispEdges" />
        {lines.map((line, n) => (
          <text
            key={line}
            x={size / 2}
            y={size + lineHeight * (n + 0.4)}
            textAnchor="middle"
            fontFamily="sans-serif"
            fontSize={n === 0 ? 2 : 1.5}
            fontWeight={n === 0 ? 600 : 400}
            fill="#000000"
          >
            {line.length > lineChars ? `${line.slice(0, lineChars - 1)}…` : line}
          </text>
        ))}
      </svg>
      <Text ta="center" fz="sm" mt="sm">
        {text}
      </Text>
      <Group justify="center" mt="md">
        <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={save}>
          {words.qrSave}
        </Button>
        <Button variant="default" onClick={printLabel}>
          {words.qrPrint}
        </Button>
      </Group>
    </>
  );
}

/** Prints the label alone (qr-label.module.css). */
function printLabel(): void {
  const { dataset } = document.documentElement;
  dataset['prints'] = 'label';
  window.addEventListener('afterprint', () => delete dataset['prints'], { once: true });
  window.print();
}
