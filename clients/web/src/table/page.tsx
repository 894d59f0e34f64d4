/** Placeholder of the view, which is being written. */
export function TablePage() {
  return null;
}
