// The secret of a mailed link, which stands behind the `#`. It is taken out of the address bar at once, so that it stays
// neither in the history of the browser nor in a picture of the page.
import { useEffect, useState } from 'react';

export function useMailedSecret(): string {
  const [secret] = useState(() => window.location.hash.slice(1));
  useEffect(() => {
    if (window.location.hash !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  }, []);
  return secret;
}
