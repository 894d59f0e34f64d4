import type { KubeValue } from "@kubeconnect/client";
import { describe, expect, test } from "vitest";
import { parse, parseDocument } from "yaml";
import { changesOf } from "../src/yaml/changes.js";
import { placeAt, suggest } from "../src/yaml/complete.js";
import { managerOf } from "../src/yaml/managers.js";
import { formatPath, parsePath } from "../src/yaml/path.js";
import { divergence, rebase } from "../src/yaml/rebase.js";
import { KindSchema } from "../src/yaml/schema.js";
import { decodedSecret, toYaml, withoutSecrets } from "../src/yaml/text.js";
import { problemsOfCauses, validate } from "../src/yaml/validate.js";

const schema = new KindSchema({
  type: "object",
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: { allOf: [{ $ref: "#/components/schemas/Spec" }], description: "What is wanted" },
  },
  components: {
    schemas: {
      Spec: {
        type: "object",
        required: ["selector"],
        properties: {
          replicas: { type: "integer", description: "Number of pods" },
          paused: { type: "boolean" },
          selector: { type: "object", additionalProperties: { type: "string" } },
          containers: { type: "array", items: { $ref: "#/components/schemas/Container" } },
          maxSurge: { oneOf: [{ type: "integer" }, { type: "string" }] },
        },
      },
      Container: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string" },
          image: { type: "string" },
          imagePullPolicy: { type: "string", enum: ["Always", "IfNotPresent", "Never"] },
        },
      },
    },
  },
});

const deployment = `kind: Deployment
spec:
  selector: { app: web }
  replicas: 3
  containers:
    - name: web
      image: nginx
`;

function messages(text: string): readonly string[] {
  return validate(parseDocument(text), schema).map(({ message }) => message);
}

describe("validate", () => {
  test("accepts what the schema allows", () => {
    expect(messages(deployment)).toEqual([]);
    expect(messages(deployment.replace("replicas: 3", "maxSurge: 25%"))).toEqual([]);
  });

  test.each([
    {
      name: "an unknown field",
      from: "replicas",
      to: "replica",
      message: "There is no field spec.replica. Did you mean replicas?",
    },
    { name: "a wrong type", from: "3", to: "three", message: "spec.replicas must be an integer." },
    {
      name: "a missing field",
      from: "selector: { app: web }",
      to: "paused: true",
      message: "spec.selector is required.",
    },
    {
      name: "a missing field of an item",
      from: "- name: web\n      image",
      to: "- image",
      message: "spec.containers[0].name is required.",
    },
    {
      name: "an unknown word",
      from: "image: nginx",
      to: "imagePullPolicy: Sometimes",
      message: "spec.containers[0].imagePullPolicy must be one of Always, IfNotPresent, Never.",
    },
  ])("reports $name", ({ from, to, message }) => {
    expect(messages(deployment.replace(from, to))).toEqual([message]);
  });

  test("reports only the syntax of a text that is not YAML", () => {
    expect(messages("spec: {\n")).toHaveLength(1);
  });

  test("places the causes of the server at their fields", () => {
    const [problem] = problemsOfCauses(parseDocument(deployment), [
      {
        field: "spec.containers[0].image",
        message: "Required value",
        reason: "FieldValueRequired",
      },
    ]);
    expect(deployment.slice(problem?.from, problem?.to)).toBe("image");
  });

  test("places a cause of a field that is missing at its parent", () => {
    const [problem] = problemsOfCauses(parseDocument(deployment), [
      { field: "spec.template.metadata.labels", message: "Invalid value", reason: "" },
    ]);
    expect(deployment.slice(problem?.from, problem?.to)).toBe("spec");
  });
});

describe("complete", () => {
  /** Returns the suggestions at the mark of a text. */
  const at = (text: string): readonly string[] => {
    const place = placeAt(text.replace("|", ""), text.indexOf("|"));
    return place ? suggest(schema, place).map(({ label }) => label) : [];
  };

  test("suggests the fields of the object that are not there yet", () => {
    expect(at("spec:\n  replicas: 3\n  |\n  selector: {}\n")).toEqual([
      "paused",
      "containers",
      "maxSurge",
    ]);
  });

  test("suggests the fields of an item, by its other lines", () => {
    expect(at("spec:\n  containers:\n    - name: a\n    - name: b\n      ima|")).toEqual([
      "image",
      "imagePullPolicy",
    ]);
  });

  test("suggests the fields of a list that is not indented", () => {
    expect(at("spec:\n  containers:\n  - name: a\n    image|")).toEqual([
      "image",
      "imagePullPolicy",
    ]);
  });

  test("suggests the values of a field", () => {
    expect(at("spec:\n  paused: |")).toEqual(["true", "false"]);
    expect(at("spec:\n  containers:\n    - imagePullPolicy: N|")).toEqual([
      "IfNotPresent",
      "Never",
    ]);
  });

  test("counts the items before the cursor", () => {
    const text = "spec:\n  containers:\n    - name: a\n    - name: b\n      i";
    expect(placeAt(text, text.length)?.path).toEqual(["spec", "containers", 1]);
  });
});

function object(fields: object, metadata: object = {}): KubeValue {
  const meta = { name: "web", uid: "1", resourceVersion: "1", creationTimestamp: "" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...meta, ...metadata },
    ...fields,
  };
}

const managedFields = [
  {
    manager: "kubectl",
    time: "2026-11-23T20:00:00Z",
    fieldsV1: { "f:spec": { "f:replicas": {} } },
  },
  {
    manager: "autoscaler",
    time: "2026-11-23T20:05:00Z",
    fieldsV1: { "f:spec": { "f:replicas": {} } },
  },
  {
    manager: "ci",
    time: "2026-11-23T20:04:00Z",
    fieldsV1: { "f:spec": { "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {} } } } },
  },
];

describe("a schema that is not one of Kubernetes", () => {
  const shared = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/components/schemas/s${index + 1}` };
      return [`s${index}`, { allOf: [next, next] }];
    }),
  );
  const itself = { $ref: "#/components/schemas/itself" };
  const odd = new KindSchema({
    properties: { itself, shared: { $ref: "#/components/schemas/s0" } },
    components: { schemas: { itself: { ...itself, allOf: [itself] }, ...shared } },
  });

  test("can refer to itself, and many times to others", () => {
    expect(odd.at(["itself"])).toEqual({});
    expect(odd.at(["shared", "field"])).toBeUndefined();
  });

  test("has no fields that all objects of JavaScript have", () => {
    expect(odd.at(["constructor"])).toBeUndefined();
    expect(odd.at(["__proto__"])).toBeUndefined();
  });
});

describe("managerOf", () => {
  const value = object(
    { spec: { replicas: 3, containers: [{ name: "web", image: "a" }] } },
    { managedFields },
  );

  test("returns the manager that has written the field last", () => {
    expect(managerOf(value, ["spec", "replicas"])?.name).toBe("autoscaler");
  });

  test("finds the items of a list by their keys", () => {
    expect(managerOf(value, ["spec", "containers", 0, "image"])?.name).toBe("ci");
  });

  test("returns undefined if no manager is known", () => {
    expect(managerOf(value, ["status"])).toBeUndefined();
  });
});

describe("rebase", () => {
  const base = object({ spec: { replicas: 3, paused: false, image: "a" } });
  const text = "spec:\n  replicas: 5 # for the sale\n  paused: false\n  image: a\n";

  test("takes over others' changes of other fields, and keeps the text", () => {
    const live = object(
      { spec: { replicas: 3, paused: true, image: "a" } },
      { resourceVersion: "2" },
    );
    const found = divergence(
      base,
      { ...base, spec: { replicas: 5, paused: false, image: "a" } },
      live,
    );
    expect(found.conflicts).toEqual([]);
    const rebased = rebase(text, found, live);
    expect(rebased).toContain("replicas: 5 # for the sale");
    expect(parse(rebased)).toMatchObject({
      spec: { replicas: 5, paused: true },
      metadata: { resourceVersion: "2" },
    });
  });

  test("explains a conflict by field and manager, and lets the user choose", () => {
    const live = object({ spec: { replicas: 9, paused: false, image: "a" } }, { managedFields });
    const found = divergence(
      base,
      { ...base, spec: { replicas: 5, paused: false, image: "a" } },
      live,
    );
    expect(found.conflicts).toMatchObject([
      {
        path: ["spec", "replicas"],
        before: 3,
        after: 9,
        mine: { value: 5 },
        manager: { name: "autoscaler" },
      },
    ]);
    expect(parse(rebase(text, found, live))).toMatchObject({ spec: { replicas: 5 } });
    const theirs = rebase(text, found, live, new Set(["spec.replicas"]));
    expect(parse(theirs)).toMatchObject({ spec: { replicas: 9 } });
  });

  test("the same change by both is no conflict", () => {
    const live = object({ spec: { replicas: 5, paused: false, image: "a" } });
    expect(divergence(base, live, live).conflicts).toEqual([]);
  });
});

describe("text", () => {
  const secret = object({
    apiVersion: "v1",
    kind: "Secret",
    data: { password: btoa("hunter2"), key: btoa("\xff\xfe") },
  });

  test("hides the values of a secret, also those that kubectl has kept", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "hunter2" };
    const shown = toYaml(
      withoutSecrets({ ...secret, metadata: { ...secret.metadata, annotations } }),
    );
    expect(shown).toContain("password: ");
    expect(shown).not.toContain(btoa("hunter2"));
    expect(shown).not.toContain("hunter2");
  });

  test("decodes the values that are text", () => {
    expect(decodedSecret(secret)).toEqual([
      ["password", "hunter2"],
      ["key", undefined],
    ]);
  });

  test("leaves out managed fields unless they are wanted", () => {
    const value = object({}, { managedFields });
    expect(toYaml(value)).not.toContain("managedFields");
    expect(toYaml(value, { managedFields: true })).toContain("managedFields");
  });
});

test("changesOf returns the smallest differences", () => {
  const before = { a: 1, list: [{ x: 1 }, { x: 2 }], gone: true };
  const after = { a: 1, list: [{ x: 1 }, { x: 3 }], added: true };
  expect(changesOf(before, after).map(({ path }) => formatPath(path))).toEqual([
    "list[1].x",
    "gone",
    "added",
  ]);
});

test.each([
  ["spec.containers[0].image", ["spec", "containers", 0, "image"]],
  ["metadata.labels[app]", ["metadata", "labels", "app"]],
  ["", []],
])("parsePath of %j", (text, path) => {
  expect(parsePath(text)).toEqual(path);
});
