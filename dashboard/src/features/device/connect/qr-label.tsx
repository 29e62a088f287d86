// A label for a device: its address as a QR code, drawn here, with its name and id. Dark on light in either scheme, because
// scanners ask for it. It can be printed and saved.
import { Button, Group, Text } from '@mantine/core';
import { useMemo, useRef } from 'react';
import { encode } from 'uqr';
import { saveFile } from '../../../api/download.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
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
/** Pixels of the picture that is saved: 80 mm at 300 dots an inch. */
const pictureWidth = 945;

export function QrLabel({ text, name, id }: QrLabelProps) {
  const { device: words } = usePageStrings();
  const label = useRef<SVGSVGElement>(null);
  const { size, path } = useMemo(() => {
    const code = encode(text, { border: 2 });
    const squares = code.data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size: code.size, path: squares.join('') };
  }, [text]);
  const lines = name === id ? [id] : [name, id];
  const height = size + lines.length * lineHeight;
  const picture = { width: pictureWidth, height: Math.round((pictureWidth * height) / size) };
  const save = async () => {
    const drawing = new XMLSerializer().serializeToString(label.current as SVGSVGElement);
    saveFile(await pictureOf(drawing, picture), `${id}.png`);
  };
  return (
    <>
      <svg
        ref={label}
        xmlns="http://www.w3.org/2000/svg"
        className={classes.label}
        {...picture}
        viewBox={`0 0 ${size} ${height}`}
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
        <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => void save()}>
          {words.qrSave}
        </Button>
        <Button variant="default" onClick={printLabel}>
          {words.qrPrint}
        </Button>
      </Group>
    </>
  );
}

/** As the programs of label printers and phones take it. */
async function pictureOf(drawing: string, size: { readonly width: number; readonly height: number }): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([drawing], { type: 'image/svg+xml' }));
  try {
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), size);
    canvas.getContext('2d')?.drawImage(image, 0, 0, size.width, size.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob === null ? reject(new Error('no picture')) : resolve(blob)), 'image/png');
    });
  } finally {
    URL.revokeObjectURL(image.src);
  }
}

/** Prints the label alone (qr-label.module.css). */
function printLabel(): void {
  const { dataset } = document.documentElement;
  dataset['prints'] = 'label';
  window.addEventListener('afterprint', () => delete dataset['prints'], { once: true });
  window.print();
}
