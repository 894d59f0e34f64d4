/**
 * Returns a signal that aborts with `signal`. Listeners are added to the copy, so that a signal
 * that many calls share does not accumulate listeners: Node.js warns of a leak if a signal has
 * more than ten.
 */
export function derived(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal]);
}
