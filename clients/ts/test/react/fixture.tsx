import { act, render, type RenderResult } from "@testing-library/react";
import type { ReactNode } from "react";
import { vi } from "vitest";
import type { Client } from "../../src/index.js";
import { EventType, type WatchManyRequest } from "../../src/proto.js";
import { KubeconnectProvider } from "../../src/react.js";
import { clientOf, FakeStreams, pod, podResource } from "../fixture.js";
import type { ManyResponse, ManyStream } from "../sharedmodel.js";

/** A fake service, with its client. */
export function service() {
  const streams = new FakeStreams<WatchManyRequest, ManyResponse>();
  const client = clientOf({ watchMany: streams.open });
  return { streams, client };
}

export function added(name: string, version = "1") {
  return { type: EventType.ADDED, object: pod(name, version) };
}

export function modified(name: string, version: string) {
  return { type: EventType.MODIFIED, object: pod(name, version) };
}

type Events = NonNullable<ManyResponse["response"]>["events"] & object;

/** Returns a message of the first store. */
export function message(...events: Events): ManyResponse {
  return {
    watchIndex: 0,
    response: { resource: podResource, events, resumeToken: "token", freshness: {} },
  };
}

/** Returns the message of a whole snapshot. */
export function snapshot(...events: Events): ManyResponse {
  const synced = { type: EventType.SYNCED, resourceVersion: "1" };
  return message({ type: EventType.RESET }, ...events, synced);
}

/** Returns the message of a page with one pod, of nine. */
export function pageOf(name: string, offset: bigint): ManyResponse {
  const events = [
    { type: EventType.RESET },
    { ...added(name), index: 0 },
    { type: EventType.SYNCED },
  ];
  const page = { totalCount: 9n, offset, resourceVersion: "1" };
  return { watchIndex: 0, response: { resource: podResource, events, resumeToken: "token", page } };
}

/** Renders components with a client. */
export function renderWith(client: Client, children: ReactNode): RenderResult {
  return render(<KubeconnectProvider client={client}>{children}</KubeconnectProvider>);
}

/** Lets everything arrive and be rendered. Timers must be fake. */
export async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 20; turn++) {
      await vi.advanceTimersByTimeAsync(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
}

/** Returns the stream that the client has opened, and sends messages. */
export async function opened(
  { streams }: ReturnType<typeof service>,
  ...messages: ManyResponse[]
): Promise<ManyStream> {
  await settle();
  const stream = await streams.next();
  stream.send(...messages);
  await settle();
  return stream;
}

/** Returns whether the client has closed a stream. */
export async function isClosed(stream: ManyStream): Promise<boolean> {
  let closed = false;
  void stream.closed.then(() => (closed = true));
  await settle();
  return closed;
}

/** Advances the timers. */
export async function advance(ms: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(ms));
}
