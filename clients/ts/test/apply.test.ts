import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  ApplyError,
  ConflictError,
  type ApplyDocuments,
  type ApplyOptions,
  type PatchResult,
} from "../src/index.js";
import { PatchType, StatusSchema, type PatchRequest } from "../src/proto.js";
import { clientOf, pod, podResource } from "./fixture.js";
import { randomNumbers } from "./randomschema.js";

/** The parts of a request that a document decides. */
type Sent = Pick<PatchRequest, "resource" | "namespace" | "name"> & { text: string };

/** Applies documents with a service that accepts all objects but one with the name "conflict". */
async function apply(documents: ApplyDocuments, options?: ApplyOptions) {
  const requests: PatchRequest[] = [];
  const groups: string[] = [];
  const client = clientOf(
    {
      patch(request) {
        if (request.name === "conflict") throw conflict;
        requests.push(request);
        return { resource: podResource, object: pod(request.name), created: true };
      },
    },
    {
      listResourceTypes({ group }) {
        groups.push(group);
        const node = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
        return { resourceTypes: [{ resource: podResource }, { resource: node }] };
      },
    },
  );
  const results = await client.applyYaml(documents, options);
  return { results, requests, groups, sent: requests.map(sentBy) };
}

const conflict = new ConnectError("the field is owned by another manager", Code.Aborted);
conflict.details.push({
  desc: StatusSchema,
  value: create(StatusSchema, {
    reason: "Conflict",
    causes: [{ reason: "FieldManagerConflict", message: "owned by b", field: ".data.a" }],
  }),
});

function sentBy({ resource, namespace, name, body }: PatchRequest): Sent {
  assert.equal(body.case, "data");
  return { resource, namespace, name, text: new TextDecoder().decode(body.value) };
}

/** Returns a ConfigMap as YAML. */
const configMap = (name: string, data = "  a: b") =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${data}\n`;

const names = (sent: readonly Sent[]) => sent.map(({ name }) => name);

suite("applyYaml", () => {
  test("applies each document of a text unchanged and in order", async () => {
    const first = `\n# first\n${configMap("a")}`;
    const second = `\n${configMap("b")}`;
    const { sent, results } = await apply(`---${first}---${second}`);
    assert.deepEqual(sent, [
      { resource: "ConfigMap.v1.", namespace: "", name: "a", text: first },
      { resource: "ConfigMap.v1.", namespace: "", name: "b", text: second },
    ]);
    assert.deepEqual(
      results.map(({ object, created }: PatchResult) => [object.name, created]),
      [
        ["a", true],
        ["b", true],
      ],
    );
  });

  test("sends the options with each document", async () => {
    const { requests } = await apply(configMap("a"), {
      fieldManager: "me",
      force: true,
      dryRun: true,
    });
    const { type, fieldManager, force, dryRun } = requests[0] ?? assert.fail();
    assert.deepEqual([type, fieldManager, force, dryRun], [PatchType.APPLY, "me", true, true]);
    const defaults = (await apply(configMap("a"))).requests[0];
    assert.deepEqual(
      [defaults?.fieldManager, defaults?.force, defaults?.dryRun],
      ["kubeconnect", false, false],
    );
  });

  test("finds the group, the version and the namespace", async () => {
    const text =
      "kind: Deployment\nmetadata:\n  namespace: shop\n  name: web\napiVersion: apps/v1\n";
    const { sent } = await apply(text);
    assert.deepEqual(sent, [
      { resource: "Deployment.v1.apps", namespace: "shop", name: "web", text },
    ]);
  });

  const forms = {
    comments:
      "apiVersion: v1 # version\n\nkind: Pod # kind\n# here\nmetadata: # names\n  # of it\n  name: web # name\n",
    "quoted texts": `"apiVersion": "v1"\n'kind': 'Pod'\nmetadata:\n    "name": 'web'\n`,
    "escapes in quoted texts": `apiVersion: v1\nkind: Pod\nmetadata:\n  name: "w\\u0065b"\n`,
    anchors:
      "apiVersion: v1\nkind: &kind Pod\nmetadata: &meta\n  labels: &l {name: x}\n  name: &n web\nspec: *l\n",
    "an anchor before a comment":
      "apiVersion: v1\nkind: Pod\nmetadata: &meta # names\n  name: web\n",
    tags: "apiVersion: !!str v1\nkind: !!str Pod\nmetadata: !!map\n  name: web\n",
    "a short metadata": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: }\n",
    "lists at the indentation of their key":
      "apiVersion: v1\nkind: Pod\nfinalizers:\n- name: x\n- kind: y\nmetadata:\n  finalizers:\n  - name: x\n  name: web\n",
    "names of other things":
      "spec:\n  name: x\n  kind: y\n  metadata:\n    name: z\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    name: x\n  ownerReferences:\n  - kind: y\n    name: z\n  name: web\n",
    "texts that look like fields":
      "apiVersion: v1\nkind: Pod\ndata:\n  a: |\n    kind: x\n\n    # no comment\n   \n    metadata:\n      name: y\nmetadata:\n  name: web\n",
    "an indented document": "  apiVersion: v1\n  kind: Pod\n  metadata:\n    name: web\n",
    JSON: `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": null}}`,
    "a directive and markers":
      "%YAML 1.2\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n...\n",
    "a byte order mark": "\uFEFFapiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n",
  };
  for (const [form, text] of Object.entries(forms)) {
    for (const [ends, document] of [
      ["Unix", text],
      ["Windows", text.replaceAll("\n", "\r\n")],
    ] as const) {
      test(`reads a document with ${form} and the line ends of ${ends}`, async () => {
        const { sent } = await apply(new TextEncoder().encode(document));
        const [{ resource, namespace, name } = assert.fail()] = sent;
        assert.deepEqual([sent.length, resource, namespace, name], [1, "Pod.v1.", "", "web"]);
      });
    }
  }

  test("does not divide a document at texts that contain ---", async () => {
    const texts = ["  a: ---", "  a: '---'", "  a: |\n    ---\n    b", "  ---: a", "  a: a\n# ---"];
    for (const data of texts) {
      const text = configMap("a", data);
      assert.deepEqual(
        (await apply(text)).sent.map(({ text }) => text),
        [text],
      );
    }
    assert.deepEqual(
      names(
        (await apply(`${configMap("a", "  a: |+\n    b\n\n")}--- # next\n${configMap("b")}`)).sent,
      ),
      ["a", "b"],
    );
  });

  test("applies nothing for documents without content", async () => {
    assert.deepEqual((await apply("")).results, []);
    assert.deepEqual((await apply("---\n# nothing\n---\n\n...\n")).results, []);
    assert.deepEqual((await apply([])).results, []);
  });

  test("applies the items of a List one by one", async () => {
    const list =
      "apiVersion: v1\nitems:\n# first\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  data: |\n    x\n" +
      "-   kind: Pod\n    apiVersion: v1\n    metadata: {name: b}\n-\n  kind: Pod\n  apiVersion: v1\n  metadata: {name: c}\nkind: List\n";
    const { sent } = await apply(list);
    assert.deepEqual(names(sent), ["a", "b", "c"]);
    assert.equal(sent[1]?.text, "    kind: Pod\n    apiVersion: v1\n    metadata: {name: b}");
    const json = { apiVersion: "v1", kind: "List", items: [object("d"), object("e")] };
    assert.deepEqual(names((await apply(JSON.stringify(json))).sent), ["d", "e"]);
    assert.deepEqual(names((await apply([json])).sent), ["d", "e"]);
    assert.deepEqual((await apply("apiVersion: v1\nkind: List\nitems: []\n")).sent, []);
  });

  test("applies objects without their managed fields, and texts among them", async () => {
    const read = { ...object("a"), metadata: { name: "a", managedFields: [{ manager: "x" }] } };
    const { sent } = await apply([read, `${configMap("b")}---\n${configMap("c")}`]);
    assert.deepEqual(names(sent), ["a", "b", "c"]);
    assert.deepEqual(JSON.parse(sent[0]?.text ?? ""), object("a"));
  });

  test("uses the default namespace for kinds with namespaces, read once", async () => {
    const own = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: own}";
    const texts = [own, { ...object("b") }, { ...object("c"), kind: "Node" }, object("d")];
    const { sent, groups } = await apply(texts, { namespace: "shop" });
    assert.deepEqual(
      sent.map(({ namespace }) => namespace),
      ["own", "shop", "", "shop"],
    );
    assert.deepEqual(groups, ["core"]);
  });

  test("tries all documents, and has a result or an error for each", async () => {
    const texts = ["a", "conflict", "b", "conflict", "c"].map((name) => configMap(name));
    const error = await rejected(apply(`# comment\n---\n${texts.join("---\n")}`));
    assert.deepEqual(
      error.results.map((each) => ("object" in each ? each.object.name : each.message)),
      [
        "a",
        "document 2, line 9 (ConfigMap conflict): the field is owned by another manager",
        "b",
        "document 4, line 23 (ConfigMap conflict): the field is owned by another manager",
        "c",
      ],
    );
    assert.deepEqual(
      error.errors,
      error.results.filter((each) => each instanceof Error),
    );
    assert.ok(error.errors.every((each) => each instanceof ConflictError));
    assert.match(error.message, /^2 of 5 objects were not applied: document 2, .*; document 4, /);
    assert.deepEqual([error.code, error.reason], [Code.Aborted, "Conflict"]);
    assert.equal(error.causes[0]?.field, ".data.a");
  });

  test("has the error of the only document", async () => {
    const { message, errors } = await rejected(apply(configMap("conflict")));
    assert.equal(message, errors[0]?.message);
    assert.match(message, /^document 1, line 1 \(ConfigMap conflict\): the field is owned/);
  });

  test("ends when the signal aborts", async () => {
    const stop = new AbortController();
    const requests: string[] = [];
    const client = clientOf({
      patch({ name }) {
        requests.push(name);
        stop.abort(new Error("enough"));
        return { resource: podResource, object: pod(name) };
      },
    });
    const texts = [configMap("a"), configMap("b")];
    await assert.rejects(client.applyYaml(texts, { signal: stop.signal }), { message: "enough" });
    assert.deepEqual(requests, ["a"]);
  });

  for (const documents of [object("a"), 5, undefined]) {
    test(`says what it takes instead of ${JSON.stringify(documents)}`, async () => {
      const message = "documents must be a text, bytes, or a list of texts and objects: [object]";
      await assert.rejects(apply(documents as never), { name: "TypeError", message });
    });
  }

  const invalid = {
    "./web.yaml": /document 2, line 8: cannot read ".\/web.yaml": .* must be in block style/,
    "kind: Pod\nmetadata: {name: a}": /document 2, line 7: an object to apply needs apiVersion/,
    "apiVersion: v1\nmetadata: {name: a}": /an object to apply needs kind/,
    "apiVersion: v1\nkind: Pod": /an object to apply needs metadata\.name/,
    "apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-": /needs metadata\.name/,
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: ~": /needs metadata\.name/,
    "apiVersion: v1\nkind: Pod\nmetadata: *names":
      /document 2, line 10: cannot read "metadata: \*names"/,
    "apiVersion: v1\nkind: Pod\nmetadata:\n\n  name: *name":
      /document 2, line 12: cannot read "name: \*name"/,
    "{apiVersion: v1, kind: Pod}": /cannot read "\{apiVersion/,
    "- apiVersion: v1": /cannot read "- apiVersion: v1"/,
    "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  metadata:\n    name: *a":
      /document 2, line 13, item 1: cannot read "name: \*a"/,
    "apiVersion: v1\nitems:\n  a: b\nkind: [List]": /document 2, line 11: cannot read "kind: \[/,
  };
  for (const [text, message] of Object.entries(invalid)) {
    test(`applies nothing if a document is ${JSON.stringify(text)}`, async () => {
      await assert.rejects(apply(`${configMap("a")}---\n${text}`), { name: "TypeError", message });
    });
  }

  test("reads any document in block style", async () => {
    const next = randomNumbers(16);
    for (let i = 0; i < 500; i++) {
      const { text, header } = randomDocument(next);
      const other = configMap("other");
      const { sent } = await apply(`${other}---\n${text}---\n${other}`);
      const [, { text: body, ...found } = assert.fail()] = sent;
      assert.deepEqual([names(sent)[2], found, body], ["other", header, `\n${text}`], text);
    }
  });
});

/** Returns the error with which a call is rejected. */
async function rejected(call: Promise<unknown>): Promise<ApplyError> {
  const error: unknown = await call.catch((error: unknown) => error);
  assert.ok(error instanceof ApplyError);
  return error;
}

function object(name: string) {
  return { apiVersion: "v1", kind: "Pod", metadata: { name } };
}

/** Returns a document with its fields in any order and style. */
function randomDocument(next: () => number) {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T;
  const shuffled = (lines: string[]) => lines.sort(() => next() - 0.5).join("");
  const text = (value: string) => pick([value, `"${value}"`, `'${value}'`, `&a ${value}`]);
  const rest = () => pick(["", " ", " # kind: x", "\t# ---"]) + "\n" + pick(["", "\n", "  # c\n"]);
  const field = (key: string, value: string) =>
    `${pick([key, `"${key}"`])}: ${text(value)}${rest()}`;
  const name = pick(["web", "a-1", "a.b", "kube:admin"]);
  const namespace = pick(["", "shop"]);
  const noise = [
    "data:\n  kind: x\n  a: |\n    ---\n    metadata:\n",
    "spec:\n- name: x\n  kind: y\n-\n  - a\n",
    "status: {kind: x,\n  name: y}\n",
    'note: "a\n  kind: b"\n',
  ];
  const indent = pick(["  ", "    ", " "]);
  const metadata = shuffled(
    [
      field("name", name),
      ...(namespace ? [field("namespace", namespace)] : []),
      pick(["", `labels:\n${indent} name: x\n`, `labels: {name: x}\n`]),
    ].map((each) => each.replace(/^(?=.)/, indent)),
  );
  const lines = [
    field("apiVersion", "apps/v1"),
    field("kind", "Deployment"),
    `metadata:${rest()}${metadata}`,
    ...noise.filter(() => next() < 0.5),
  ];
  return { text: shuffled(lines), header: { resource: "Deployment.v1.apps", namespace, name } };
}
