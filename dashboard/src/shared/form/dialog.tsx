// A dialog of the dashboard: its title as all have it, and a name for the button that closes it. Used wherever something
// opens over a page.
import { Modal, type ModalProps, Text } from '@mantine/core';
import { useStrings } from '../../strings/strings.ts';

export interface DialogProps extends Omit<ModalProps, 'title' | 'closeButtonProps'> {
  readonly title: string;
}

export function Dialog({ title, ...rest }: DialogProps) {
  const { shared } = useStrings();
  return (
    <Modal
      {...rest}
      title={
        <Text fw={650} lineClamp={3} title={title}>
          {title}
        </Text>
      }
      closeButtonProps={{ 'aria-label': shared.close }}
    />
  );
}
