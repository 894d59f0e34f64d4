import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "../ui/button.js";
import { Notice } from "../ui/notice.js";

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
