import { act, render } from "@testing-library/react";
import { startTransition, useLayoutEffect, useState, type ReactNode } from "react";
import { expect, test } from "vitest";
import type { LiveStore } from "../../src/index.js";
import { useLiveStore } from "../../src/react.js";

interface State {
  readonly version: number;
}

/** A store that changes when a test says so, also in the middle of a render. */
class ChangingStore {
  readonly connection = { state: "connected", since: new Date(0) };
  snapshot: State = { version: 1 };
  readonly #listeners = new Set<() => void>();

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(): void {
    this.snapshot = { version: this.snapshot.version + 1 };
    for (const listener of this.#listeners) listener();
  }

  get asLive(): LiveStore<State> {
    return this as unknown as LiveStore<State>;
  }
}

test("components do not tear when the store changes in the middle of a concurrent render", async () => {
  const store = new ChangingStore();
  const committed: (string | null)[] = [];
  let add: () => void = () => undefined;
  let changes = 1;

  const Version = (): ReactNode => <i>{useLiveStore(store.asLive).snapshot?.version}</i>;
  function ChangesStore(): ReactNode {
    if (changes-- > 0) store.change();
    return null;
  }
  function App(): ReactNode {
    const [added, setAdded] = useState(false);
    add = () => {
      setAdded(true);
    };
    useLayoutEffect(() => {
      committed.push(document.body.textContent);
    });
    if (!added) return <Version />;
    return [<Version key={1} />, <ChangesStore key={2} />, <Version key={3} />];
  }

  render(<App />);
  await act(async () => {
    startTransition(add);
    await Promise.resolve();
  });
  expect(committed).toEqual(["1", "22"]);
  expect(document.body.textContent).toBe("22");
});
