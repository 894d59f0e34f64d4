import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import {
  addQuantities,
  ageOf,
  compareQuantities,
  conditionOf,
  controllerOf,
  decimalOf,
  formatAge,
  formatQuantity,
  isReady,
  isTrue,
  numberOf,
  ownerChain,
  ownersOf,
  parseIntOrString,
  parseQuantity,
  parseTime,
  scaledValue,
  type QuantityFormat,
} from "../src/helpers.js";
import { Code, ConnectError } from "@connectrpc/connect";
import { clientOf } from "./fixture.js";
import { randomNumbers } from "./randomschema.js";

/**
 * Results of k8s.io/apimachinery, of quantities after a change, because it keeps the text of an
 * unchanged one. It prints 10000E as 10, which is a fault of its own.
 */
const golden = JSON.parse(
  readFileSync(new URL("golden/apimachinery.json", import.meta.url), "utf8"),
) as {
  ages: [seconds: number, text: string][];
  quantities: [text: string, canonical: string, decimal: string][];
  intOrStrings: [text: string, value: number | string][];
  scaled: [value: number | string, total: number, round: "up" | "down", result: number][];
};

suite("a time", () => {
  test("is parsed as RFC 3339", () => {
    const parsed = (text: string) => parseTime(text).toISOString();
    assert.equal(parsed("2026-01-02T03:04:05Z"), "2026-01-02T03:04:05.000Z");
    assert.equal(parsed("2026-01-02T03:04:05.678901Z"), "2026-01-02T03:04:05.678Z");
    assert.equal(parsed("2026-01-02T03:04:05+02:00"), "2026-01-02T01:04:05.000Z");
    assert.equal(parsed("2026-01-02t03:04:05z"), "2026-01-02T03:04:05.000Z");
  });

  for (const text of [
    "",
    "now",
    "2026",
    "2026-01-02",
    "2026-13-02T03:04:05Z",
    "2026-01-02T03:04:05",
  ]) {
    test(`is not ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseTime(text), RangeError);
    });
  }

  test("has the age that kubectl prints", () => {
    for (const [seconds, text] of golden.ages) {
      assert.equal(formatAge(seconds * 1000), text, `${seconds} seconds`);
      assert.equal(
        formatAge(seconds * 1000 + (seconds < 0 ? -999 : 999)),
        text,
        `${seconds}.999 seconds`,
      );
      const creationTimestamp = "2020-01-01T00:00:00Z";
      const now = new Date(Date.parse(creationTimestamp) + seconds * 1000);
      assert.equal(ageOf({ metadata: { creationTimestamp } }, now), text);
    }
    assert.equal(ageOf({ metadata: {} }), "<unknown>");
  });
});

suite("a quantity", () => {
  for (const [text, canonical, decimal] of golden.quantities) {
    test(`${text} is ${canonical}, as in Kubernetes`, () => {
      assert.equal(formatQuantity(text), canonical);
      const zeros = (digits: string) =>
        digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
      assert.equal(decimalOf(text), zeros(decimal));
    });
  }

  for (const text of [
    "",
    " ",
    "Ki",
    "1 Gi",
    "1ki",
    "1KB",
    "0x1",
    "1e",
    "e3",
    "1.2.3",
    "--1",
    "NaN",
    "1e9999999",
  ]) {
    test(`is not ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseQuantity(text), RangeError);
    });
  }

  test("is a number, too", () => {
    assert.equal(numberOf("250m"), 0.25);
    assert.equal(numberOf("1Ki"), 1024);
    assert.equal(formatQuantity(1.5), "1500m");
    assert.equal(formatQuantity(1e21), "1e21");
    assert.equal(formatQuantity("10000E"), "10000E");
  });

  test("has the format of the first amount in a sum", () => {
    assert.equal(formatQuantity(addQuantities("0", "1Gi", "1G")), "2073741824");
    assert.equal(formatQuantity(addQuantities("1Gi", "1Gi")), "2Gi");
    assert.equal(formatQuantity(addQuantities("100m", 1)), "1100m");
    assert.equal(formatQuantity(addQuantities()), "0");
  });

  test("of any size is the same after formatting, and is added and compared exactly", () => {
    const next = randomNumbers(4);
    const formats: QuantityFormat[] = ["decimal", "binary", "exponent"];
    const random = () => {
      const size = 10n ** BigInt(Math.floor(next() * 30));
      const nanos = (BigInt(Math.floor(next() * 2 ** 52)) - 2n ** 51n) * size;
      return { nanos, format: formats[Math.floor(next() * 3)] ?? "decimal" };
    };
    for (let i = 0; i < 2000; i++) {
      const [a, b] = [random(), random()];
      const text = formatQuantity(a);
      assert.equal(parseQuantity(text).nanos, a.nanos, text);
      assert.equal(formatQuantity(text), text);
      assert.equal(parseQuantity(decimalOf(a)).nanos, a.nanos);
      assert.equal(addQuantities(a, b).nanos, a.nanos + b.nanos);
      assert.equal(compareQuantities(a, b), a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0);
    }
    assert.deepEqual(["1Gi", "500m", "1G", 2].sort(compareQuantities), ["500m", 2, "1G", "1Gi"]);
  });
});

suite("an integer or a text", () => {
  test("is parsed as in Kubernetes", () => {
    for (const [text, value] of golden.intOrStrings)
      assert.equal(parseIntOrString(text), value, text);
  });

  test("is scaled as in Kubernetes", () => {
    for (const [value, total, round, result] of golden.scaled) {
      assert.equal(scaledValue(value, total, round), result, `${value} of ${total}, ${round}`);
    }
    assert.throws(() => scaledValue("http", 1, "up"), RangeError);
  });
});

suite("conditions", () => {
  const ready = { type: "Ready", status: "True", reason: "Fine" };
  const withReady = { metadata: { generation: 2 }, status: { conditions: [ready] } };

  test("are found by their type in any case", () => {
    assert.equal(conditionOf(withReady, "ready"), ready);
    assert.equal(conditionOf(withReady, "Available"), undefined);
    assert.equal(conditionOf({}, "Ready"), undefined);
  });

  test("are not true for an earlier generation", () => {
    const at = (observedGeneration: number) => ({
      metadata: { generation: 2 },
      status: { conditions: [{ ...ready, observedGeneration }] },
    });
    assert.deepEqual(
      [withReady, at(2), at(1)].map((each) => isTrue(each, "Ready")),
      [true, true, false],
    );
    const whole = { ...withReady, status: { ...withReady.status, observedGeneration: 1 } };
    assert.equal(isTrue(whole, "Ready"), false);
    assert.equal(
      isTrue({ status: { conditions: [{ type: "Ready", status: "Unknown" }] } }, "Ready"),
      false,
    );
  });

  const done = {
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    readyReplicas: 2,
    observedGeneration: 3,
  };
  const workload = (kind: string, status: object, spec: object = { replicas: 2 }) => ({
    kind,
    metadata: { generation: 3 },
    spec,
    status,
  });
  const partition = { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } };
  const daemons = {
    desiredNumberScheduled: 2,
    updatedNumberScheduled: 2,
    numberAvailable: 2,
    observedGeneration: 3,
  };
  const onDelete = { replicas: 2, updateStrategy: { type: "OnDelete" } };
  const cases: [what: string, object: object, expected: boolean | undefined][] = [
    ["a complete Deployment", workload("Deployment", done), true],
    [
      "a Deployment that is not observed",
      workload("Deployment", { ...done, observedGeneration: 2 }),
      false,
    ],
    ["a Deployment with old replicas", workload("Deployment", { ...done, replicas: 3 }), false],
    ["a Deployment with old pods", workload("Deployment", { ...done, updatedReplicas: 1 }), false],
    [
      "a Deployment with unavailable pods",
      workload("Deployment", { ...done, availableReplicas: 1 }),
      false,
    ],
    [
      "a Deployment of no pods",
      workload("Deployment", { observedGeneration: 3 }, { replicas: 0 }),
      true,
    ],
    ["a complete DaemonSet", workload("DaemonSet", daemons), true],
    [
      "a DaemonSet with old pods",
      workload("DaemonSet", { ...daemons, updatedNumberScheduled: 1 }),
      false,
    ],
    [
      "a DaemonSet with old pods until they are deleted",
      workload("DaemonSet", { ...daemons, updatedNumberScheduled: 1 }, onDelete),
      true,
    ],
    [
      "a complete StatefulSet",
      workload("StatefulSet", { ...done, updateRevision: "a", currentRevision: "a" }),
      true,
    ],
    [
      "a StatefulSet with old pods",
      workload("StatefulSet", { ...done, updateRevision: "b", currentRevision: "a" }),
      false,
    ],
    [
      "a StatefulSet with old pods until they are deleted",
      workload("StatefulSet", { ...done, updateRevision: "b", currentRevision: "a" }, onDelete),
      true,
    ],
    [
      "a StatefulSet with a partition",
      workload("StatefulSet", { ...done, updatedReplicas: 1, updateRevision: "b" }, partition),
      true,
    ],
    ["a ReplicaSet", workload("ReplicaSet", done), true],
    [
      "a ReplicaSet with pods that are not ready",
      workload("ReplicaSet", { ...done, readyReplicas: 1 }),
      false,
    ],
    ["a ready pod", { kind: "Pod", ...withReady }, true],
    ["a pod without conditions", { kind: "Pod", metadata: {} }, false],
    [
      "a pod that is being deleted",
      { ...withReady, kind: "Pod", metadata: { deletionTimestamp: "2026-01-02T03:04:05Z" } },
      false,
    ],
    ["a Job that runs", { kind: "Job", status: {} }, false],
    [
      "a complete Job",
      { kind: "Job", status: { conditions: [{ type: "Complete", status: "True" }] } },
      true,
    ],
    ["a bound claim", { kind: "PersistentVolumeClaim", status: { phase: "Bound" } }, true],
    ["a pending claim", { kind: "PersistentVolumeClaim", status: { phase: "Pending" } }, false],
    ["a custom object with Ready", { kind: "Widget", ...withReady }, true],
    [
      "a custom object with Available",
      { kind: "Widget", status: { conditions: [{ type: "Available", status: "False" }] } },
      false,
    ],
    ["an object without conditions", { kind: "ConfigMap" }, undefined],
  ];
  for (const [what, object, expected] of cases) {
    test(`decide whether an object is ready: ${what}`, () => {
      assert.equal(isReady(object), expected);
    });
  }
});

suite("owners", () => {
  /** Creates a client for objects, each with the name of its controller and the uid that it names. */
  function owned(objects: Record<string, { kind?: string; controller?: string; uid?: string }>) {
    const places: string[] = [];
    const kinds = [
      { group: "apps", version: "v1", kind: "Set", plural: "sets", namespaced: true },
      { group: "apps", version: "v1", kind: "Host", plural: "hosts", namespaced: false },
    ];
    const client = clientOf(
      {
        get({ name, namespace, resource }) {
          const found = objects[name];
          if (!found) throw new ConnectError("no such object", Code.NotFound);
          places.push(`${resource} ${namespace}/${name}`);
          const owner = found.controller;
          const ownerReferences = owner && [
            { apiVersion: "v1", kind: "Other", name: "other", uid: "other" },
            {
              apiVersion: "apps/v1",
              kind: objects[owner]?.kind ?? "Set",
              name: owner,
              uid: found.uid ?? `uid-${owner}`,
              controller: true,
            },
          ];
          const value = new TextEncoder().encode(JSON.stringify({ metadata: { ownerReferences } }));
          const content = { case: "json" as const, value };
          return {
            resource: kinds[0],
            object: { name, namespace, uid: `uid-${name}`, content },
          };
        },
      },
      { listResourceTypes: () => ({ resourceTypes: kinds.map((resource) => ({ resource })) }) },
    );
    return { client, places };
  }

  async function chainOf(objects: Parameters<typeof owned>[0], limit?: number) {
    const { client, places } = owned(objects);
    const first = await client.get<object>("sets", { namespace: "shop", name: "a" });
    const chain = await ownerChain(client, first, { limit });
    return { names: chain.map(({ name }) => name), places: places.slice(1), first };
  }

  test("are the references of an object, one of them the controller", async () => {
    const { first } = await chainOf({ a: { controller: "b" } });
    assert.deepEqual(
      ownersOf(first.value).map(({ name }) => name),
      ["other", "b"],
    );
    assert.equal(controllerOf(first.value)?.name, "b");
    assert.deepEqual(ownersOf({}), []);
    assert.equal(controllerOf({ metadata: {} }), undefined);
  });

  test("form a chain, also with an owner without a namespace", async () => {
    const objects = { a: { controller: "b" }, b: { controller: "c" }, c: { kind: "Host" } };
    const { names, places } = await chainOf(objects);
    assert.deepEqual(names, ["b", "c"]);
    assert.deepEqual(places, ["Set.v1.apps shop/b", "Host.v1.apps /c"]);
  });

  test("form a chain that ends at an owner that does not exist or was replaced", async () => {
    assert.deepEqual((await chainOf({ a: { controller: "gone" } })).names, []);
    assert.deepEqual((await chainOf({ a: { controller: "b", uid: "old" }, b: {} })).names, []);
  });

  test("form a chain that ends in a cycle, and at the limit", async () => {
    assert.deepEqual((await chainOf({ a: { controller: "a" } })).names, []);
    const cycle = { a: { controller: "b" }, b: { controller: "c" }, c: { controller: "b" } };
    assert.deepEqual((await chainOf(cycle)).names, ["b", "c"]);
    const long = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [i === 0 ? "a" : `n${i}`, { controller: `n${i + 1}` }]),
    );
    assert.equal((await chainOf(long)).names.length, 10);
    assert.deepEqual((await chainOf(long, 2)).names, ["n1", "n2"]);
    assert.deepEqual((await chainOf(long, 0)).names, []);
  });
});
