/** Placeholder of the view, which is being written. */
export function ObjectPage() {
  return null;
}
