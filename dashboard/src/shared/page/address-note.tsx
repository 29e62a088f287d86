// Says that the address shown for other machines is a guess, and who can settle it. Nothing where it is certain.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { factsQuery } from '../../api/facts.ts';
import { useStrings } from '../../strings/strings.ts';

export function AddressNote() {
  const { shared } = useStrings();
  const { data: facts } = useQuery(factsQuery);
  if (facts?.reachable?.isGuess !== true) return null;
  return (
    <Text fz="sm" c="dimmed" mt="xs">
      {shared.addressGuessed}
    </Text>
  );
}
