import { act, screen, type RenderResult } from "@testing-library/react";
import { Code, ConnectError } from "@connectrpc/connect";
import { Component, Suspense, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { expect, suite, test, vi } from "vitest";
import { KubeconnectProvider, useList } from "../../src/react.js";
import { added, advance, opened, renderWith, service, settle, snapshot } from "./fixture.js";

const forbidden = new ConnectError("pods is forbidden", Code.PermissionDenied);

function Names({ suspense }: { suspense: boolean }): ReactNode {
  const { objects, error, loaded } = useList("pods", { suspense });
  return (
    <p>{error?.message ?? (loaded ? objects.map(({ name }) => name).join(",") : "loading")}</p>
  );
}

class Boundary extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <button
        onClick={() => {
          this.setState({ error: undefined } as never);
        }}
      >
        {error.message}
      </button>
    );
  }
}

const suspended = (
  <Boundary>
    <Suspense fallback={<p>fallback</p>}>
      <Names suspense />
    </Suspense>
  </Boundary>
);

async function renderSuspended({ client }: ReturnType<typeof service>): Promise<RenderResult> {
  const rendered = renderWith(client, null);
  await act(async () => {
    rendered.rerender(<KubeconnectProvider client={client}>{suspended}</KubeconnectProvider>);
    await Promise.resolve();
  });
  return rendered;
}

function text(): string | null {
  return screen.getByText(/./).textContent;
}

suite("with suspense", () => {
  test("a component suspends until the first snapshot, with one stream", async () => {
    const fake = service();
    await renderSuspended(fake);
    expect(text()).toBe("fallback");
    await opened(fake, snapshot(added("a")));
    expect(text()).toBe("a");
    expect(fake.streams.waiting).toBe(0);
  });

  test("an error reaches the boundary, which asks again when it is reset", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const fake = service();
    await renderSuspended(fake);
    await opened(fake, forbidden as never);
    expect(text()).toBe("pods is forbidden");
    await advance(1_000);
    await act(async () => {
      screen.getByRole("button").click();
      await Promise.resolve();
    });
    await opened(fake, snapshot(added("a")));
    expect(text()).toBe("a");
    vi.restoreAllMocks();
  });

  test("a suspended component that is unmounted closes its stream later", async () => {
    const fake = service();
    const { unmount } = await renderSuspended(fake);
    const stream = await opened(fake);
    unmount();
    let closed = false;
    void stream.closed.then(() => (closed = true));
    await advance(35_002);
    await settle();
    expect(closed).toBe(true);
  });
});

test("without suspense an error is returned", async () => {
  const fake = service();
  renderWith(fake.client, <Names suspense={false} />);
  await opened(fake, forbidden as never);
  expect(text()).toBe("pods is forbidden");
});

test("on a server nothing is loaded, and no stream is opened", async () => {
  const fake = service();
  const html = renderToString(
    <KubeconnectProvider client={fake.client}>
      <Names suspense={false} />
    </KubeconnectProvider>,
  );
  await settle();
  expect([html, fake.streams.waiting]).toEqual(["<p>loading</p>", 0]);
});

test("on a server a component with suspense is left to the browser", async () => {
  vi.stubGlobal("document", undefined);
  const fake = service();
  const html = renderToString(
    <KubeconnectProvider client={fake.client}>{suspended}</KubeconnectProvider>,
  );
  vi.unstubAllGlobals();
  await settle();
  expect(html).toContain("<p>fallback</p>");
  expect(fake.streams.waiting).toBe(0);
});
