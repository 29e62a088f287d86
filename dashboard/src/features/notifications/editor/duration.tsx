// Spans of time: as a blank with a number and a unit, and in words.
import { useState } from 'react';
import type { Strings } from '../../../strings/catalogue.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { ChoiceBlank, TextBlank } from './blank.tsx';

const units = { s: 1, min: 60, h: 3_600, d: 86_400 } as const;
type Unit = keyof typeof units;

interface DurationBlankProps {
  readonly label: string;
  readonly seconds: number;
  readonly onChange: (seconds: number) => void;
  readonly isWrong?: boolean;
}

export function DurationBlank({ label, seconds, onChange, isWrong = false }: DurationBlankProps) {
  const { notifications } = usePageStrings();
  const [unit, setUnit] = useState<Unit>(unitOf(seconds));
  const [typed, setTyped] = useState(String(seconds / units[unitOf(seconds)]));
  const become = (text: string, of: Unit) => {
    setTyped(text);
    setUnit(of);
    const number = Number(text.trim().replace(',', '.'));
    onChange(Number.isFinite(number) && text.trim() !== '' ? Math.round(number * units[of]) : 0);
  };
  const words = Number(typed) === 1 ? notifications.unitOne : notifications.unitMany;
  return (
    <>
      <TextBlank label={label} value={typed} isDecimal isWrong={isWrong} onChange={(text) => become(text, unit)} />
      <ChoiceBlank
        label={notifications.unitOf(label)}
        value={unit}
        onChange={(chosen) => become(typed, chosen)}
        options={(Object.keys(units) as Unit[]).map((value) => ({ value, label: words[value] }))}
      />
    </>
  );
}

/** The largest unit of which it is a whole number. */
function unitOf(seconds: number): Unit {
  const whole = (['d', 'h', 'min'] as const).find((unit) => seconds > 0 && seconds % units[unit] === 0);
  return whole ?? (seconds === 0 ? 'min' : 's');
}

export function durationWords(seconds: number, { notifications }: Strings): string {
  const unit = unitOf(seconds);
  const number = seconds / units[unit];
  return `${number} ${(number === 1 ? notifications.unitOne : notifications.unitMany)[unit]}`;
}
