/** Placeholder of the view, which is being written. */
export function LogsPage() {
  return null;
}
