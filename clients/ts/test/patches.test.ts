import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { HeldObjects, KubeconnectError, type KubeValue } from "../src/index.js";
import { mergePatch } from "../src/patches.js";
import { EventType, type EventSchema, type WatchRequest } from "../src/proto.js";
import { clientOf, pod, podKind } from "./fixture.js";

type EventInit = MessageInitShape<typeof EventSchema>;

const snapshot: EventInit[] = [
  { type: EventType.RESET },
  { type: EventType.ADDED, object: pod("a") },
  { type: EventType.SYNCED },
];

/** A change of pod a as the service sends it. */
function patchTo(version: string, patch: unknown): EventInit {
  const value = new TextEncoder().encode(JSON.stringify(patch));
  const object = { ...pod("a", version), content: { case: "json" as const, value } };
  return { type: EventType.MODIFIED, object, patch: true };
}

/** A client whose nth stream sends the nth events behind a token of its number. */
function streams(...all: EventInit[][]) {
  const requests: WatchRequest[] = [];
  const client = clientOf({
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
    async *watch(request) {
      const events = all[requests.push(request) - 1] ?? [];
      yield { kind: podKind, events, resumeToken: `t${String(requests.length)}` };
    },
  });
  return { client, requests };
}

/** The last object that a stream tells. */
async function last(
  client: ReturnType<typeof clientOf>,
  patches: HeldObjects,
  resumeToken = "",
): Promise<KubeValue | undefined> {
  let value: KubeValue | undefined;
  for await (const { events } of client.watch("pods", {}, { resumeToken, patches }).batches()) {
    for (const event of events) if ("object" in event) value = event.object.value;
  }
  return value;
}

suite("patches", () => {
  test("make whole objects, also behind a token", async () => {
    const { client, requests } = streams(
      [...snapshot, patchTo("2", { metadata: { labels: null, resourceVersion: "2" } })],
      [patchTo("3", { spec: { a: 1 } })],
    );
    const held = new HeldObjects();
    await last(client, held);
    assert.deepEqual(await last(client, held, "t1"), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: "a", uid: "uid-a", resourceVersion: "2" },
      spec: { a: 1 },
    });
    assert.deepEqual(
      requests.map((request) => request.patches),
      [true, true],
    );
  });

  test("are not asked for behind a token of which nothing is held", async () => {
    const { client, requests } = streams(snapshot, [], []);
    const held = new HeldObjects();
    await last(client, held);
    await last(client, held, "t0");
    await last(client, new HeldObjects(), "t1");
    assert.deepEqual(
      requests.map((request) => request.patches),
      [true, false, false],
    );
  });

  test("to what is not held are an error", async () => {
    const { client } = streams([...snapshot, { type: EventType.RESET }, patchTo("2", {})]);
    await assert.rejects(last(client, new HeldObjects()), KubeconnectError);
  });

  test("are merged as the standard says", () => {
    const parsed = JSON.parse('{"__proto__":{"a":1},"b":null}') as unknown;
    assert.equal(JSON.stringify(mergePatch({ b: 1 }, parsed)), '{"__proto__":{"a":1}}');
    assert.deepEqual(mergePatch({ a: ["b"], c: { d: 1 } }, { a: [null], c: { e: { f: null } } }), {
      a: [null],
      c: { d: 1, e: {} },
    });
    assert.deepEqual(mergePatch({ a: { b: 1 } }, { a: "b" }), { a: "b" });
  });
});
