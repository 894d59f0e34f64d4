import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "../ui/button.js";
import { Empty, Notice } from "../ui/notice.js";

/**
 * What is shown instead of a view that has failed, for example because an object is nested too deeply
 * for the browser. The rest of the page remains usable.
 */
export function ViewError({ error, reset }: ErrorComponentProps) {
  return (
    <Notice tone="bad" title="This view cannot be shown">
      <span>{error instanceof Error ? error.message : String(error)}</span>
      <Button onClick={reset}>Try again</Button>
    </Notice>
  );
}

/** What is shown at an address that no view has. */
export function NotFound() {
  return (
    <Empty>
      <h1>There is no such page</h1>
      <Link to="/">Go to the overview</Link>
    </Empty>
  );
}
