import { act, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, suite, test } from "vitest";
import type { KubeValue } from "../../src/index.js";
import { useList, useMutation, useResource } from "../../src/react.js";
import {
  added,
  advance,
  message,
  modified,
  opened,
  renderWith,
  service,
  settle,
  snapshot,
} from "./fixture.js";

const pod = { namespace: "default", name: "a" };

/** Returns a write that a test ends. */
function createWrite() {
  let succeed: (result: unknown) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<unknown>((resolve, reject) => {
    succeed = resolve;
    fail = reject;
  });
  return { promise, succeed, fail };
}

function labelled(label: string) {
  return (value: KubeValue): KubeValue => ({
    ...value,
    metadata: { ...value.metadata, labels: { ...value.metadata.labels, app: label } },
  });
}

/** Renders the label of a pod, as a list and as an object, after a mutation has begun. */
async function mutating() {
  const fake = service();
  const write = createWrite();
  let mutate: (label: string) => void = () => undefined;
  function Label(): ReactNode {
    const { objects } = useList("pods");
    const mutation = useMutation(() => write.promise, {
      optimistic: (label: string) => ({ resource: "pods", name: pod, apply: labelled(label) }),
    });
    mutate = mutation.mutate;
    const label = objects.find(({ name }) => name === "a")?.value.metadata.labels?.app;
    return <p>{`${label} ${mutation.pending} ${mutation.error?.message}`}</p>;
  }
  renderWith(fake.client, <Label />);
  const stream = await opened(fake, snapshot(added("a", "1"), added("b", "1")));
  expect(text()).toBe("a false undefined");
  act(() => {
    mutate("new");
  });
  expect(text()).toBe("new true undefined");
  return { write, stream };
}

function text(): string | null {
  return screen.getByText(/./).textContent;
}

suite("an optimistic change", () => {
  test("is shown until the watch brings the version of the write", async () => {
    const { write, stream } = await mutating();
    write.succeed({ object: { resourceVersion: "5" } });
    await settle();
    expect(text()).toBe("new false undefined");
    stream.send(message(modified("a", "4")));
    await settle();
    expect(text()).toBe("new false undefined");
    stream.send(message(modified("a", "5")));
    await settle();
    expect(text()).toBe("a false undefined");
  });

  test("gives way to a newer change by someone else", async () => {
    const { write, stream } = await mutating();
    stream.send(message(modified("a", "10")));
    await settle();
    expect(text()).toBe("new true undefined");
    write.succeed({ resourceVersion: "9" });
    await settle();
    expect(text()).toBe("a false undefined");
  });

  test("is dropped when the write fails", async () => {
    const { write } = await mutating();
    write.fail(new Error("conflict"));
    await settle();
    expect(text()).toBe("a false conflict");
  });

  test("is dropped when the write returns no version", async () => {
    const { write } = await mutating();
    write.succeed(undefined);
    await settle();
    expect(text()).toBe("a false undefined");
  });

  test("is dropped when no watch brings the version in ten seconds", async () => {
    const { write } = await mutating();
    write.succeed({ resourceVersion: "5" });
    await settle();
    await advance(9_999);
    expect(text()).toBe("new false undefined");
    await advance(1);
    expect(text()).toBe("a false undefined");
  });

  test("waits for an equal version if the versions cannot be compared", async () => {
    const { write, stream } = await mutating();
    write.succeed({ resourceVersion: "x2" });
    stream.send(message(modified("a", "x1")));
    await settle();
    expect(text()).toBe("new false undefined");
    stream.send(message(modified("a", "x2")));
    await settle();
    expect(text()).toBe("a false undefined");
  });
});

test("nothing is written if the optimistic change throws", async () => {
  const writes: string[] = [];
  let mutate: (label: string) => void = () => undefined;
  function State(): ReactNode {
    const mutation = useMutation(
      (label: string) => {
        writes.push(label);
        return Promise.resolve();
      },
      {
        optimistic: () => {
          throw new Error("no such row");
        },
      },
    );
    mutate = mutation.mutate;
    return <p>{`${mutation.pending} ${mutation.error?.message}`}</p>;
  }
  renderWith(service().client, <State />);
  act(() => {
    mutate("new");
  });
  await settle();
  expect(text()).toBe("false no such row");
  expect(writes).toEqual([]);
});

test("an object of useResource shows the change too", async () => {
  const fake = service();
  const write = createWrite();
  let mutate = (): void => undefined;
  function One(): ReactNode {
    const { object } = useResource("pods", pod);
    ({ mutate } = useMutation(() => write.promise, {
      optimistic: () =>
        object && { resource: object.resource, name: object, apply: labelled("new") },
    }));
    return <p>{object?.value.metadata.labels?.app}</p>;
  }
  renderWith(fake.client, <One />);
  await opened(fake, snapshot(added("a")));
  act(() => {
    mutate();
  });
  expect(text()).toBe("new");
  write.succeed(undefined);
  await settle();
  expect(text()).toBe("a");
});
