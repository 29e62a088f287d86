// A field for the gateway of a device: those that there are, to choose from; one that is not declared yet may be named all
// the same.
import { Autocomplete } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { gatewayChoicesQuery } from '../../api/gateways.ts';
import { limits } from '../../limits.ts';
import { usePageStrings } from '../../strings/strings.ts';

interface GatewayInputProps {
  readonly value: string;
  readonly onChange: (gateway: string) => void;
  readonly error: string | undefined;
}

export function GatewayInput({ value, onChange, error }: GatewayInputProps) {
  const { device: words } = usePageStrings();
  const { data = [] } = useQuery(gatewayChoicesQuery);
  return (
    <Autocomplete
      label={words.gatewayField}
      description={words.gatewayMeans}
      placeholder="gateway-1"
      data={data.map(({ id }) => id)}
      limit={limits.completionsMax}
      value={value}
      onChange={onChange}
      error={error}
      autoComplete="off"
    />
  );
}
