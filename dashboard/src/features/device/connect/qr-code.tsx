// An address as a QR code, drawn here; dark on light in either scheme, because scanners ask for it.
import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { encode } from 'uqr';
import { useStrings } from '../../../strings/strings.ts';
import classes from './qr-code.module.css';

export function QrCode({ text }: { readonly text: string }) {
  const { device: words } = useStrings();
  const { size, path } = useMemo(() => {
    const code = encode(text, { border: 2 });
    const squares = code.data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size: code.size, path: squares.join('') };
  }, [text]);
  return (
    <>
      <svg className={classes.code} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={words.qrLabel(text)}>
        <path d={path} />
      </svg>
      <Text ta="center" fz="sm" mt="sm">
        {text}
      </Text>
    </>
  );
}
