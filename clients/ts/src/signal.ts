/**
 * Returns a signal that aborts with this one. Listeners are added to the copy, so that
 * a signal that many calls share does not collect a listener of each: Node.js warns
 * of a leak where one signal has more than ten.
 */
export function derived(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal]);
}
