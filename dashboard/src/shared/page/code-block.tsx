// Lines for a terminal or a program, with a button that copies them. `copied` is what is copied where it is more than is
// shown, such as a token.

import { useStrings } from '../../strings/strings.ts';
import classes from './code-block.module.css';
import { CopyButton } from './copy-button.tsx';

export function CodeBlock({ text, copied = text }: { readonly text: string; readonly copied?: string }) {
  const { shared } = useStrings();
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must scroll by keys as well. */}
      <pre className={classes.code} tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={copied}>{shared.copy}</CopyButton>
    </>
  );
}
