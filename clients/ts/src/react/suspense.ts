import * as React from "react";
import type { SharedStore } from "./shared.js";
import { notLoaded, type LiveView } from "./view.js";

/** React's `use`, which React 18 does not have. The name keeps bundlers from requiring it. */
const useName = "use";
const usePromise = (React as Partial<Pick<typeof React, "use">>)[useName];

/**
 * Suspends the component until the store has a snapshot, and throws the store's error for an error
 * boundary. On a server it throws, which makes React send the fallback of the Suspense boundary and
 * render the component in the browser.
 */
export function suspendUntilLoaded(shared: SharedStore, view: LiveView<object>): void {
  if (view === notLoaded && typeof document === "undefined") throw new Error(onServer);
  for (;;) {
    const { error, snapshot } = shared.store;
    if (error) {
      shared.failed();
      throw error;
    }
    if (snapshot) return;
    waitFor(shared.load());
  }
}

function waitFor(promise: Promise<void>): void {
  // React 18 takes the promise from what a component throws.
  // eslint-disable-next-line @typescript-eslint/only-throw-error
  if (!usePromise) throw promise;
  usePromise(promise);
}

const onServer =
  "a component with suspense has no data on a server: the fallback is sent, " +
  "and the browser renders the component";
