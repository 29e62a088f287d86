// A refusal or a fault in plain words, with what to do: at the head of a form, or in place of what could not be read.
import { Alert, Button, Group } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { ApiProblem } from '../../api/api-problem.ts';
import { useSession } from '../../api/use-session.ts';
import type { FirstStrings } from '../../strings/catalogue.ts';
import { useStrings } from '../../strings/strings.ts';
import { refusalWords } from '../fault-words.ts';
import { Icon } from './icon.tsx';

export function ProblemNotice({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const strings = useStrings();
  const isGuest = useSession().status === 'guest';
  const { href } = useLocation();
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} my="sm">
      <Group justify="space-between" gap="sm">
        <span>{problemWords(error, strings, { isGuest })}</span>
        {isForSomebody(error) && isGuest ? (
          <Button component={Link} to="/sign-in" search={{ next: href } as never} size="xs">
            {strings.shell.signIn}
          </Button>
        ) : (
          retry !== undefined && (
            <Button variant="default" size="xs" onClick={retry}>
              {strings.shared.retry}
            </Button>
          )
        )}
      </Group>
    </Alert>
  );
}

function isForSomebody(error: unknown): boolean {
  return error instanceof ApiProblem && (error.status === 401 || error.status === 403);
}

/** What is said of an error, in the language of the page. */
export function problemWords(error: unknown, strings: FirstStrings, { isGuest = false } = {}): string {
  const { shared } = strings;
  if (!(error instanceof ApiProblem)) return shared.problem;
  if (error.code === 'unreachable') return shared.unreachable;
  if (isForSomebody(error) && isGuest) return shared.forbiddenGuest;
  return refusalWords(error, strings);
}
