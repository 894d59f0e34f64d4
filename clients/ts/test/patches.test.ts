import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { KubeconnectError, type KubeValue, type WatchOptions } from "../src/index.js";
import { applyPatch } from "../src/jsonpatch.js";
import { EventType, PatchFormat, type EventSchema, type WatchRequest } from "../src/proto.js";
import { clientOf, pod, podResource, untilEnd } from "./fixture.js";

type EventInit = MessageInitShape<typeof EventSchema>;

const snapshot: EventInit[] = [
  { type: EventType.RESET },
  { type: EventType.ADDED, object: pod("a") },
  { type: EventType.SYNCED },
];

/** Returns a change of pod a in the format of the service. */
function patchTo(version: string, operations: unknown, patchFormat = PatchFormat.JSON): EventInit {
  const value = new TextEncoder().encode(JSON.stringify(operations));
  const object = { ...pod("a", version), content: { case: "json" as const, value } };
  return { type: EventType.MODIFIED, object, patchFormat };
}

const add = (path: string, value: unknown) => ({ op: "add", path, value });
const remove = (path: string) => ({ op: "remove", path });
const replace = (path: string, value: unknown) => ({ op: "replace", path, value });

/** Creates a client whose nth stream sends the nth events, with the resume token "tn". */
function streams(...all: EventInit[][]) {
  const requests: WatchRequest[] = [];
  const client = clientOf({
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
    async *watch(request) {
      const events = all[requests.push(request) - 1] ?? [];
      yield { resource: podResource, events, resumeToken: `t${String(requests.length)}` };
    },
  });
  return { client, requests };
}

/** Returns the last object that a watch with patches delivers until its stream ends. */
async function last(
  client: ReturnType<typeof clientOf>,
  options: WatchOptions = { reconnect: false },
): Promise<KubeValue | undefined> {
  const watch = client.watch("pods", { patches: true, ...options });
  const objects = await untilEnd(watch, (event) => ("object" in event ? [event.object.value] : []));
  return objects.flat().at(-1);
}

async function rejects(promise: Promise<unknown>, message: string): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof KubeconnectError);
    assert.equal(error.message, message);
    assert.equal(error.code, Code.DataLoss);
    return true;
  });
}

/** Patches that apply, with their results. */
const fits: [name: string, target: string, operations: unknown[], result: string][] = [
  ["nothing", '{"a":1}', [], '{"a":1}'],
  ["add a member", '{"a":1}', [add("/b", 2)], '{"a":1,"b":2}'],
  ["add a member that is there", '{"a":1}', [add("/a", 2)], '{"a":2}'],
  ["remove a member", '{"a":1,"b":2}', [remove("/a")], '{"b":2}'],
  ["replace a member", '{"a":{"b":1}}', [replace("/a", [2])], '{"a":[2]}'],
  ["add before the first item", "[1,2]", [add("/0", 0)], "[0,1,2]"],
  ["add between items", "[1,2]", [add("/1", 0)], "[1,0,2]"],
  ["add after the last item", "[1,2]", [add("/2", 0)], "[1,2,0]"],
  ["add to an empty list", "[]", [add("/0", 0)], "[0]"],
  ["remove the first item", "[1,2,3]", [remove("/0")], "[2,3]"],
  ["remove a middle item", "[1,2,3]", [remove("/1")], "[1,3]"],
  ["remove the last item", "[1,2,3]", [remove("/2")], "[1,2]"],
  ["replace the first item", "[1,2,3]", [replace("/0", 0)], "[0,2,3]"],
  ["replace a middle item", "[1,2,3]", [replace("/1", 0)], "[1,0,3]"],
  ["replace the last item", "[1,2,3]", [replace("/2", 0)], "[1,2,0]"],
  ["an index of two digits", "[0,1,2,3,4,5,6,7,8,9,10]", [remove("/10")], "[0,1,2,3,4,5,6,7,8,9]"],
  ["a list is one item", "[1]", [add("/1", [2])], "[1,[2]]"],
  [
    "deep within",
    '{"a":[{"b":[1,{"c":2}]}]}',
    [replace("/a/0/b/1/c", 3)],
    '{"a":[{"b":[1,{"c":3}]}]}',
  ],
  ["a slash", '{"a/b":1,"a":{}}', [replace("/a~1b", 2)], '{"a/b":2,"a":{}}'],
  ["a tilde", '{"a~b":1}', [replace("/a~0b", 2)], '{"a~b":2}'],
  ["a tilde before a 1", '{"~1":1,"/":2}', [remove("/~01")], '{"/":2}'],
  ["both", '{"a/b":{"c~d":1}}', [remove("/a~1b/c~0d")], '{"a/b":{}}'],
  ["the empty name", "{}", [add("/", 1)], '{"":1}'],
  ["empty names", '{"":{"":1}}', [replace("//", 2)], '{"":{"":2}}'],
  ["a line break", '{"a\\nb":1}', [remove("/a\nb")], "{}"],
  ["a name that is a number", '{"0":1}', [replace("/0", 2)], '{"0":2}'],
  ["a name that is no index", "{}", [add("/01", 1)], '{"01":1}'],
  ["a name that is a dash", "{}", [add("/-", 1)], '{"-":1}'],
  ["add null", "{}", [add("/a", null)], '{"a":null}'],
  ["replace by null", '{"a":1}', [replace("/a", null)], '{"a":null}'],
  ["remove null", '{"a":null}', [remove("/a")], "{}"],
  ["replace null", '{"a":null}', [replace("/a", 1)], '{"a":1}'],
  ["add __proto__", "{}", [add("/__proto__", 1)], '{"__proto__":1}'],
  ["remove __proto__", '{"__proto__":{"a":1}}', [remove("/__proto__")], "{}"],
  ["replace __proto__", '{"__proto__":1}', [replace("/__proto__", {})], '{"__proto__":{}}'],
  ["through __proto__", '{"__proto__":{"a":1}}', [remove("/__proto__/a")], '{"__proto__":{}}'],
  ["constructor", "{}", [add("/constructor", 1)], '{"constructor":1}'],
  ["toString", '{"toString":1}', [replace("/toString", 2)], '{"toString":2}'],
  [
    "one after another",
    '{"a":[1,2,3],"b":4}',
    [remove("/a/0"), remove("/a/0"), add("/c", {}), add("/c/d", 5), remove("/b")],
    '{"a":[3],"c":{"d":5}}',
  ],
];

const noOperation = "an operation is not add, remove or replace";
const noList = "not a list of operations";

/** Patches that do not apply to an object with a list of two items, with their errors. */
const misfits: [name: string, operations: unknown, why: string][] = [
  ["remove a missing member", [remove("/b")], 'path "/b" does not exist'],
  ["replace a missing member", [replace("/b", 1)], 'path "/b" does not exist'],
  ["add to a missing member", [add("/b/c", 1)], 'path "/b/c" does not exist'],
  ["add beyond the end", [add("/list/3", 1)], 'path "/list/3" does not exist'],
  ["remove after the last item", [remove("/list/2")], 'path "/list/2" does not exist'],
  ["replace after the last item", [replace("/list/2", 1)], 'path "/list/2" does not exist'],
  ["through an item after the last", [add("/list/2/a", 1)], 'path "/list/2/a" does not exist'],
  ["a dash", [add("/list/-", 1)], 'path "/list/-" does not exist'],
  ["a negative index", [remove("/list/-1")], 'path "/list/-1" does not exist'],
  ["a leading zero", [remove("/list/01")], 'path "/list/01" does not exist'],
  ["a fraction", [remove("/list/1.0")], 'path "/list/1.0" does not exist'],
  ["a space", [remove("/list/ 1")], 'path "/list/ 1" does not exist'],
  ["a line break", [remove("/list/1\n")], 'path "/list/1\n" does not exist'],
  ["a power of ten", [remove("/list/1e0")], 'path "/list/1e0" does not exist'],
  ["the empty name in a list", [remove("/list/")], 'path "/list/" does not exist'],
  ["a name in a list", [replace("/list/length", 0)], 'path "/list/length" does not exist'],
  ["into a string", [add("/text/0", 1)], 'path "/text/0" does not exist'],
  ["into a number", [remove("/number/a")], 'path "/number/a" does not exist'],
  ["into null", [add("/null/a", 1)], 'path "/null/a" does not exist'],
  ["through a string", [replace("/text/0/a", 1)], 'path "/text/0/a" does not exist'],
  ["through null", [add("/null/a/b", 1)], 'path "/null/a/b" does not exist'],
  ["remove __proto__", [remove("/__proto__")], 'path "/__proto__" does not exist'],
  ["through __proto__", [add("/__proto__/a", 1)], 'path "/__proto__/a" does not exist'],
  ["replace constructor", [replace("/constructor", 1)], 'path "/constructor" does not exist'],
  ["through constructor", [add("/constructor/a", 1)], 'path "/constructor/a" does not exist'],
  ["remove toString", [remove("/toString")], 'path "/toString" does not exist'],
  ["the second operation", [add("/a", 1), remove("/b")], 'path "/b" does not exist'],
  ["the whole document", [replace("", {})], '"" is not a path'],
  ["no slash at the beginning", [replace("text", 1)], '"text" is not a path'],
  ["an unknown escape", [add("/a~2", 1)], '"/a~2" is not a path'],
  ["half an escape", [add("/a~", 1)], '"/a~" is not a path'],
  ["test", [{ op: "test", path: "/text", value: "a" }], noOperation],
  ["move", [{ op: "move", from: "/text", path: "/a" }], noOperation],
  ["no op", [{ path: "/text", value: 1 }], noOperation],
  ["no path", [{ op: "remove" }], noOperation],
  ["a path that is no string", [{ op: "remove", path: 1 }], noOperation],
  ["add without a value", [{ op: "add", path: "/a" }], noOperation],
  ["replace without one", [{ op: "replace", path: "/text" }], noOperation],
  ["a string for an operation", ["remove"], noOperation],
  ["null for an operation", [null], noOperation],
  ["a list for an operation", [[]], noOperation],
  ["a merge patch", { text: "b" }, noList],
  ["null", null, noList],
  ["a string", "a", noList],
];

suite("patches", () => {
  /** Options of a watch that ends with its second stream. */
  const twoStreams = (): WatchOptions => {
    let lost = 0;
    return { isFinal: () => ++lost === 2, sleep: () => Promise.resolve() };
  };

  test("become complete objects, also on the next stream", async () => {
    const { client, requests } = streams(
      [
        ...snapshot,
        patchTo("2", [remove("/metadata/labels"), replace("/metadata/resourceVersion", "2")]),
      ],
      [patchTo("3", [add("/spec", { a: 1 })]), patchTo("4", [])],
    );
    assert.deepEqual(await last(client, twoStreams()), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: "a", uid: "uid-a", resourceVersion: "2" },
      spec: { a: 1 },
    });
    assert.deepEqual(
      requests.map(({ resumeToken, patchFormat }) => [resumeToken, patchFormat]),
      [
        ["", PatchFormat.JSON],
        ["t1", PatchFormat.JSON],
      ],
    );
  });

  test("are not requested with the caller's token, because no objects are cached", async () => {
    const { client, requests } = streams([], []);
    await last(client, { ...twoStreams(), resumeToken: "t0" });
    assert.deepEqual(
      requests.map((request) => request.patchFormat),
      [PatchFormat.UNSPECIFIED, PatchFormat.UNSPECIFIED],
    );
  });

  test("are not requested again after one that did not apply", async () => {
    const { client, requests } = streams(
      [...snapshot, patchTo("2", [remove("/status")])],
      [{ type: EventType.MODIFIED, object: pod("a", "2") }],
    );
    await last(client, twoStreams());
    assert.deepEqual(
      requests.map((request) => request.patchFormat),
      [PatchFormat.JSON, PatchFormat.UNSPECIFIED],
    );
  });

  test("of an object that is not cached are an error", async () => {
    const { client } = streams([...snapshot, { type: EventType.RESET }, patchTo("2", [])]);
    await rejects(last(client), "patch of a, which is not cached");
  });

  test("of another type are an error", async () => {
    const { client } = streams([...snapshot, patchTo("2", {}, PatchFormat.MERGE)]);
    await rejects(last(client), "patch of a has a format that was not requested");
  });

  for (const [name, operations, why] of misfits) {
    test(`that do not apply are an error: ${name}`, async () => {
      const content = [add("/list", [1, 2]), add("/text", "a"), add("/number", 1)];
      const before = patchTo("2", [...content, add("/null", null)]);
      const { client } = streams([...snapshot, before, patchTo("3", operations)]);
      await rejects(last(client), `patch of a does not apply: ${why}`);
    });
  }

  test("that are not JSON are an error", async () => {
    const value = new TextEncoder().encode("[");
    const object = { ...pod("a", "2"), content: { case: "json" as const, value } };
    const patch: EventInit = { type: EventType.MODIFIED, object, patchFormat: PatchFormat.JSON };
    const { client } = streams([...snapshot, patch]);
    await assert.rejects(last(client), KubeconnectError);
  });

  for (const [name, target, operations, result] of fits) {
    test(`are applied: ${name}`, () => {
      const value = JSON.parse(target) as unknown;
      applyPatch(value, JSON.parse(JSON.stringify(operations)));
      assert.equal(JSON.stringify(value), result);
    });
  }

  test("do not change the prototype of objects", () => {
    const value = {};
    applyPatch(value, [add("/__proto__", { a: 1 }), add("/__proto__/b", 2)]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(Object.hasOwn(Object.prototype, "b"), false);
  });
});
