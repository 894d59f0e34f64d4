import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { render, type RenderResult } from "@testing-library/react";
import type { ReactNode } from "react";
import { EventType, Source, type WatchRequest, type WatchResponseSchema } from "../../src/proto.js";
import { KubeconnectProvider } from "../../src/react.js";
import { clientOf, FakeStreams, pod, podResource, type FakeStream } from "../fixture.js";

type Response = MessageInitShape<typeof WatchResponseSchema>;
export type PageStream = FakeStream<WatchRequest, Response>;

/** A fake service of live pages, with its client. */
export function pageService() {
  const streams = new FakeStreams<WatchRequest, Response>();
  return { streams, client: clientOf({ watch: streams.open }) };
}

export type PageService = ReturnType<typeof pageService>;

/** Returns the message of a page with these pods, which replace all earlier ones. */
export function pageOf(resourceVersion: string, ...pods: ReturnType<typeof pod>[]): Response {
  const added = pods.map((object, index) => ({ type: EventType.ADDED, object, index }));
  return {
    resource: podResource,
    source: Source.CACHE,
    freshness: {},
    events: [{ type: EventType.RESET }, ...added, { type: EventType.SYNCED }],
    resumeToken: resourceVersion,
    page: { totalCount: BigInt(pods.length), offset: 0n, resourceVersion },
  };
}

export const forbidden = new ConnectError("pods is forbidden", Code.PermissionDenied);

/** Renders components with the client of a service. */
export function renderWith(
  { client }: Pick<PageService, "client">,
  children: ReactNode,
  lingerMs?: number,
): RenderResult {
  return render(
    <KubeconnectProvider client={client} lingerMs={lingerMs}>
      {children}
    </KubeconnectProvider>,
  );
}

/** Lets all messages arrive that were sent. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
