import { render, screen } from "@testing-library/react";
import { StrictMode, type ReactNode } from "react";
import { expect, suite, test } from "vitest";
import {
  KubeconnectProvider,
  useCount,
  useList,
  useLivePage,
  useResource,
} from "../../src/react.js";
import { EventType } from "../../src/proto.js";
import { podResource } from "../fixture.js";
import {
  added,
  advance,
  isClosed,
  message,
  opened,
  pageOf,
  renderWith,
  service,
  settle,
  snapshot,
} from "./fixture.js";

let renders = 0;

function Names({ namespace = "default" }: { namespace?: string }): ReactNode {
  renders++;
  const { objects, loaded } = useList("pods", { namespace, fields: ["spec.nodeName"] });
  return <p>{loaded ? objects.map(({ name }) => name).join(",") : "loading"}</p>;
}

function texts(): (string | null)[] {
  return screen.queryAllByText(/./).map(({ textContent }) => textContent);
}

suite("components with the same question", () => {
  test("share one stream, also in StrictMode", async () => {
    const fake = service();
    renderWith(
      fake.client,
      <StrictMode>
        <Names />
        <Names />
      </StrictMode>,
    );
    expect(texts()).toEqual(["loading", "loading"]);
    const stream = await opened(fake, snapshot(added("b"), added("a")));
    expect(stream.request.watches).toHaveLength(1);
    expect(texts()).toEqual(["a,b", "a,b"]);
    expect(fake.streams.waiting).toBe(0);
  });

  test("open no stream for options that are equal, and do not render without a change", async () => {
    const fake = service();
    const { rerender } = renderWith(fake.client, <Names />);
    const stream = await opened(fake, snapshot(added("a")));
    renders = 0;
    stream.send(message({ type: EventType.BOOKMARK, resourceVersion: "9" }));
    await settle();
    expect(renders).toBe(0);
    rerender(
      <KubeconnectProvider client={fake.client}>
        <Names />
      </KubeconnectProvider>,
    );
    await settle();
    expect(renders).toBe(1);
    expect(fake.streams.waiting).toBe(0);
  });

  test("have the data at once when they are mounted again, and close the stream later", async () => {
    const fake = service();
    const first = renderWith(fake.client, <Names />);
    const stream = await opened(fake, snapshot(added("a")));
    first.unmount();
    await advance(4_999);
    const second = renderWith(fake.client, <Names />);
    expect(texts()).toEqual(["a"]);
    expect(fake.streams.waiting).toBe(0);
    second.unmount();
    await advance(4_999);
    expect(await isClosed(stream)).toBe(false);
    await advance(2); // a fake timer that another one sets is a millisecond later
    expect(await isClosed(stream)).toBe(true);
  });

  test("open another store for other options, and show nothing of the earlier one", async () => {
    const fake = service();
    const { rerender } = renderWith(fake.client, <Names />);
    await opened(fake, snapshot(added("a")));
    rerender(
      <KubeconnectProvider client={fake.client}>
        <Names namespace="other" />
      </KubeconnectProvider>,
    );
    expect(texts()).toEqual(["loading"]);
    const second = await opened(fake);
    expect(second.request.watches.map(({ namespace }) => namespace)).toEqual(["default", "other"]);
  });
});

suite("hooks", () => {
  test("reject functions in options, and need a provider", () => {
    const fake = service();
    const Wrong = (): ReactNode => {
      useList("pods", { sleep: () => Promise.resolve() } as object);
      return null;
    };
    expect(() => renderWith(fake.client, <Wrong />)).toThrow(/"sleep" is a function/);
    expect(() => render(<Names />)).toThrow(/within a KubeconnectProvider/);
  });

  test("useResource follows an object that is created later, and reads nothing without a name", async () => {
    const fake = service();
    const One = ({ name }: { name: string | undefined }): ReactNode => {
      const { exists, loaded } = useResource("pods", name ? { namespace: "default", name } : null);
      return <p>{`${loaded} ${exists}`}</p>;
    };
    renderWith(fake.client, <One name={undefined} />);
    await settle();
    expect([texts(), fake.streams.waiting]).toEqual([["false false"], 0]);
    renderWith(fake.client, <One name="a" />);
    const stream = await opened(fake, snapshot());
    expect(stream.request.watches[0]?.name).toBe("a");
    expect(texts()).toEqual(["false false", "true false"]);
    stream.send(message(added("a")));
    await settle();
    expect(texts()[1]).toBe("true true");
  });

  test("useLivePage scrolls its page when the range changes", async () => {
    const fake = service();
    const Page = ({ offset }: { offset: number }): ReactNode => {
      const { items, offset: shown } = useLivePage("pods", { offset, limit: 1 });
      return <p>{`${shown}: ${items.map(({ name }) => name).join(",")}`}</p>;
    };
    const { rerender } = renderWith(fake.client, <Page offset={0} />);
    await opened(fake, pageOf("a", 0n));
    rerender(
      <KubeconnectProvider client={fake.client}>
        <Page offset={4} />
      </KubeconnectProvider>,
    );
    expect(texts()).toEqual(["0: a"]);
    const second = await opened(fake, pageOf("e", 4n));
    expect(second.request.watches).toHaveLength(1);
    expect(second.request.watches[0]).toMatchObject({ offset: 4n, ownResumeToken: "token" });
    expect(texts()).toEqual(["4: e"]);
  });

  test("useCount has the numbers", async () => {
    const fake = service();
    const Total = (): ReactNode => {
      const { total } = useCount("pods");
      return <p>{total ?? "unknown"}</p>;
    };
    renderWith(fake.client, <Total />);
    expect(texts()).toEqual(["unknown"]);
    const counts = { reset: true, totalCount: 3n, resource: podResource, freshness: {} };
    await opened(fake, { counts });
    expect(texts()).toEqual(["3"]);
  });

  test("keepPrevious shows the earlier objects until the others have arrived", async () => {
    const fake = service();
    const Kept = ({ namespace }: { namespace: string }): ReactNode => {
      const { objects, previous } = useList("pods", { namespace, keepPrevious: true });
      return <p>{`${previous}: ${objects.map(({ name }) => name).join(",")}`}</p>;
    };
    const { rerender } = renderWith(fake.client, <Kept namespace="default" />);
    await opened(fake, snapshot(added("a")));
    rerender(
      <KubeconnectProvider client={fake.client}>
        <Kept namespace="other" />
      </KubeconnectProvider>,
    );
    expect(texts()).toEqual(["true: a"]);
    await opened(fake, { ...snapshot(added("b")), watchIndex: 1 });
    expect(texts()).toEqual(["false: b"]);
  });

  test("keepPrevious shows nothing of another client, whose user may see more", async () => {
    const [first, second] = [service(), service()];
    const Kept = (): ReactNode => {
      const { objects, previous } = useList("pods", { keepPrevious: true });
      return <p>{`${previous}: ${objects.map(({ name }) => name).join(",")}`}</p>;
    };
    const { rerender } = renderWith(first.client, <Kept />);
    await opened(first, snapshot(added("a")));
    rerender(
      <KubeconnectProvider client={second.client}>
        <Kept />
      </KubeconnectProvider>,
    );
    expect(texts()).toEqual(["false: "]);
    await opened(second, snapshot(added("b")));
    expect(texts()).toEqual(["false: b"]);
  });
});
