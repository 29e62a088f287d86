// The session as components see it.
import { useSyncExternalStore } from 'react';
import { type SessionState, session } from './session.ts';

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => session.state);
}

/** The name of who is signed in; `guest` otherwise. */
export function useUsername(): string {
  const state = useSession();
  return state.status === 'user' ? state.username : 'guest';
}
