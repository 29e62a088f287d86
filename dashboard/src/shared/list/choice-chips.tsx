// Chips of which one at most is on: what a list shows alone. The caller puts them into a group with a label.
import { Chip } from '@mantine/core';

interface ChoiceChipsProps<Choice extends string> {
  readonly choices: readonly Choice[];
  readonly words: Readonly<Record<Choice, string>>;
  readonly chosen: Choice | undefined;
  readonly onChoose: (choice: Choice | undefined) => void;
}

export function ChoiceChips<Choice extends string>({ choices, words, chosen, onChoose }: ChoiceChipsProps<Choice>) {
  return choices.map((choice) => (
    <Chip
      key={choice}
      size="sm"
      variant="outline"
      checked={chosen === choice}
      onChange={(isOn) => onChoose(isOn ? choice : undefined)}
    >
      {words[choice]}
    </Chip>
  ));
}
