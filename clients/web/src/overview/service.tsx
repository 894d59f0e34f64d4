/** Placeholder of the view, which is being written. */
export function ServicePage() {
  return null;
}
