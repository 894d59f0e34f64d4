import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { toJson, type DescMessage, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  KubeconnectError,
  type Client,
  type FieldValidation,
  type WriteBody,
} from "../src/index.js";
import {
  CreateRequestSchema,
  DeleteCollectionRequestSchema,
  DeleteRequestSchema,
  PatchRequestSchema,
  UpdateRequestSchema,
} from "../src/proto.js";
import { clientOf, pod, podResource } from "./fixture.js";

const web = { namespace: "default", name: "web" };
const response = { resource: podResource, object: pod("web", "2"), warnings: ["mind"] };
const preconditions = { uid: "uid-web", resourceVersion: "1" };

/** Creates a client whose service accepts all writes. `requests` has them, without defaults. */
function recording(): { client: Client; requests: JsonValue[] } {
  const requests: JsonValue[] = [];
  function note<D extends DescMessage>(schema: D, request: MessageShape<D>): void {
    requests.push(toJson(schema, request));
  }
  const client = clientOf({
    create(request) {
      note(CreateRequestSchema, request);
      return response;
    },
    update(request) {
      note(UpdateRequestSchema, request);
      return { ...response, created: true };
    },
    patch(request) {
      note(PatchRequestSchema, request);
      return { ...response, created: true };
    },
    delete(request) {
      note(DeleteRequestSchema, request);
      return response;
    },
    deleteCollection(request) {
      note(DeleteCollectionRequestSchema, request);
      return { deletedCount: 3n, warnings: ["mind"], resourceVersion: "12" };
    },
  });
  return { client, requests };
}

/** Returns the bytes of a text in the JSON format of messages. */
function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** The fields that the client sends by default. */
const defaults = { fieldValidation: "FIELD_VALIDATION_WARN", encoding: "ENCODING_JSON" };

suite("create", () => {
  test("sends all options, and returns the created object", async () => {
    const { client, requests } = recording();
    const result = await client.create(
      "pods",
      { spec: {} },
      {
        ...web,
        subresource: "eviction",
        dryRun: true,
        fieldManager: "me",
        fieldValidation: "strict",
      },
    );
    assert.deepEqual(requests, [
      {
        resource: "pods",
        ...web,
        subresource: "eviction",
        data: base64('{"spec":{}}'),
        dryRun: true,
        fieldManager: "me",
        fieldValidation: "FIELD_VALIDATION_STRICT",
        encoding: "ENCODING_JSON",
      },
    ]);
    assert.equal(result.object.resourceVersion, "2");
    assert.deepEqual(result.warnings, ["mind"]);
  });

  const bodies: [string, WriteBody, string][] = [
    ["an object as JSON", { a: null, ü: [1] }, '{"a":null,"ü":[1]}'],
    ["text as it is", "spec: {ü: 1}", "spec: {ü: 1}"],
    ["bytes as they are", new TextEncoder().encode("spec: {ü: 1}"), "spec: {ü: 1}"],
  ];
  for (const [name, body, sent] of bodies) {
    test(`sends ${name}`, async () => {
      const { client, requests } = recording();
      await client.create("pods", body);
      assert.deepEqual(requests, [{ resource: "pods", data: base64(sent), ...defaults }]);
    });
  }

  test("sends a returned object completely", async () => {
    const { client, requests } = recording();
    const { object } = await client.create("pods", {});
    await client.create("pods", object);
    const data = base64(JSON.stringify(object.value));
    assert.deepEqual(requests[1], { resource: "pods", data, ...defaults });
  });

  test("rejects an unknown option value before the call", async () => {
    const { client, requests } = recording();
    const fieldValidation = "Strict" as FieldValidation;
    await assert.rejects(client.create("pods", {}, { fieldValidation }), {
      name: "TypeError",
      message: '"Strict" is not one of ignore, warn, strict',
    });
    assert.deepEqual(requests, []);
  });

  test("fails with the cluster's error", async () => {
    const client = clientOf({
      create() {
        throw new ConnectError("there is one", Code.AlreadyExists);
      },
    });
    await assert.rejects(client.create("pods", {}), (error) => {
      assert.ok(error instanceof KubeconnectError);
      assert.equal(error.code, Code.AlreadyExists);
      return true;
    });
  });
});

suite("update", () => {
  test("sends all options, and returns the changed object", async () => {
    const { client, requests } = recording();
    const result = await client.update(
      "pods",
      { spec: {} },
      {
        ...web,
        ...preconditions,
        subresource: "status",
        dryRun: true,
        fieldManager: "me",
        fieldValidation: "ignore",
      },
    );
    assert.deepEqual(requests, [
      {
        resource: "pods",
        ...web,
        subresource: "status",
        data: base64('{"spec":{}}'),
        dryRun: true,
        fieldManager: "me",
        fieldValidation: "FIELD_VALIDATION_IGNORE",
        preconditions,
        encoding: "ENCODING_JSON",
      },
    ]);
    assert.equal(result.object.resourceVersion, "2");
    assert.deepEqual(result.warnings, ["mind"]);
    assert.equal(result.created, true);
  });
});

suite("patch", () => {
  test("sends all options, and returns the changed object", async () => {
    const { client, requests } = recording();
    const result = await client.patch("pods", web, {
      ...preconditions,
      type: "apply",
      body: { metadata: { labels: { a: null } } },
      subresource: "status",
      dryRun: true,
      fieldManager: "me",
      force: true,
      fieldValidation: "strict",
    });
    assert.deepEqual(requests, [
      {
        resource: "pods",
        ...web,
        subresource: "status",
        type: "PATCH_TYPE_APPLY",
        data: base64('{"metadata":{"labels":{"a":null}}}'),
        dryRun: true,
        fieldManager: "me",
        force: true,
        fieldValidation: "FIELD_VALIDATION_STRICT",
        preconditions,
        encoding: "ENCODING_JSON",
      },
    ]);
    assert.equal(result.object.resourceVersion, "2");
    assert.deepEqual(result.warnings, ["mind"]);
    assert.equal(result.created, true);
  });
});

suite("delete", () => {
  test("sends all options, and returns the remaining object", async () => {
    const { client, requests } = recording();
    const result = await client.delete("pods", web, {
      ...preconditions,
      propagationPolicy: "foreground",
      gracePeriodSeconds: 0,
      dryRun: true,
    });
    assert.deepEqual(requests, [
      {
        resource: "pods",
        ...web,
        preconditions,
        propagationPolicy: "PROPAGATION_POLICY_FOREGROUND",
        gracePeriodSeconds: "0",
        dryRun: true,
        encoding: "ENCODING_JSON",
      },
    ]);
    assert.equal(result.object?.resourceVersion, "2");
    assert.deepEqual(result.warnings, ["mind"]);
  });

  test("leaves omitted options to the kind's defaults", async () => {
    const { client, requests } = recording();
    await client.delete("pods", web);
    assert.deepEqual(requests, [
      { resource: "pods", ...web, preconditions: {}, encoding: "ENCODING_JSON" },
    ]);
  });

  test("accepts an object as its name", async () => {
    const { client, requests } = recording();
    const { object } = await client.create("pods", {});
    await client.delete("pods", object, { uid: object.uid });
    assert.deepEqual(requests[1], {
      resource: "pods",
      ...web,
      preconditions: { uid: "uid-web" },
      encoding: "ENCODING_JSON",
    });
  });

  test("returns no object if none remains", async () => {
    const client = clientOf({ delete: () => ({ resource: podResource, resourceVersion: "12" }) });
    const { object, resourceVersion } = await client.delete("pods", web);
    assert.equal(object, undefined);
    assert.equal(resourceVersion, "12");
  });
});

suite("deleteCollection", () => {
  test("sends all options, and returns the number of deleted objects", async () => {
    const { client, requests } = recording();
    const selection = {
      namespace: "default",
      labelSelector: "app=web",
      fieldSelector: "status.phase=Failed",
    };
    const result = await client.deleteCollection("pods", {
      ...selection,
      propagationPolicy: "orphan",
      gracePeriodSeconds: 5,
      dryRun: true,
    });
    assert.deepEqual(requests, [
      {
        resource: "pods",
        ...selection,
        propagationPolicy: "PROPAGATION_POLICY_ORPHAN",
        gracePeriodSeconds: "5",
        dryRun: true,
      },
    ]);
    assert.deepEqual(result, { deletedCount: 3, resourceVersion: "12", warnings: ["mind"] });
  });
});
