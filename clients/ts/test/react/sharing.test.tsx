import { act, cleanup, screen } from "@testing-library/react";
import { StrictMode, type ReactNode } from "react";
import { afterEach, beforeEach, expect, suite, test, vi } from "vitest";
import { useLivePage } from "../../src/react.js";
import { pod } from "../fixture.js";
import { KubeconnectProvider } from "../../src/react.js";
import { pageOf, pageService, renderWith, settle } from "./fixture.js";

let renders = 0;

function Names({ limit = 2 }: { limit?: number }): ReactNode {
  renders++;
  const { items, loaded, error } = useLivePage("pods", { namespace: "default", limit });
  if (error) return <p>{error.message}</p>;
  return <p>{loaded ? items.map(({ name }) => name).join(",") : "loading"}</p>;
}

function texts(): (string | null)[] {
  return screen.queryAllByText(/./).map(({ textContent }) => textContent);
}

suite("components with the same question", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    renders = 0;
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
  });

  test("share one stream, also in StrictMode", async () => {
    const service = pageService();
    renderWith(
      service,
      <StrictMode>
        <Names />
        <Names />
      </StrictMode>,
    );
    expect(texts()).toEqual(["loading", "loading"]);
    const stream = await service.streams.next();
    stream.send(pageOf("1", pod("a"), pod("b")));
    await act(settle);
    expect(texts()).toEqual(["a,b", "a,b"]);
    expect(service.streams.waiting).toBe(0);
  });

  test("do not render again without a change, and do not open streams for equal options", async () => {
    const service = pageService();
    const tree = (
      <KubeconnectProvider client={service.client}>
        <Names />
      </KubeconnectProvider>
    );
    const { rerender } = renderWith(service, <Names />);
    const stream = await service.streams.next();
    stream.send(pageOf("1", pod("a")));
    await act(settle);
    const before = renders;
    stream.send({ freshness: {} });
    await act(settle);
    expect(renders).toBe(before);
    rerender(tree);
    await act(settle);
    expect(renders).toBe(before + 1);
    expect(service.streams.waiting).toBe(0);
  });

  test("have the data at once when they are mounted again, and close the stream later", async () => {
    const service = pageService();
    const first = renderWith(service, <Names />);
    const stream = await service.streams.next();
    stream.send(pageOf("1", pod("a")));
    await act(settle);
    first.unmount();
    await act(() => vi.advanceTimersByTimeAsync(4_999));
    const second = renderWith(service, <Names />);
    expect(texts()).toEqual(["a"]);
    expect(service.streams.waiting).toBe(0);
    second.unmount();
    let closed = false;
    void stream.closed.then(() => (closed = true));
    await act(() => vi.advanceTimersByTimeAsync(4_999));
    await settle();
    expect(closed).toBe(false);
    await act(() => vi.advanceTimersByTimeAsync(1));
    await stream.closed;
  });
});
