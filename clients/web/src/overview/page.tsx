/** Placeholder of the view, which is being written. */
export function OverviewPage() {
  return null;
}
