import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CheckAccessRequestSchema, type CheckAccessRequest } from "../src/proto.js";
import { accessClientOf } from "./fixture.js";

suite("whoAmI", () => {
  test("returns the identity, and sends the headers of the call", async () => {
    const client = accessClientOf({
      whoAmI: (_, { requestHeader }) => ({
        username: requestHeader.get("X-Request-Id") ?? "",
        uid: "u1",
        groups: ["readers"],
        extra: { scopes: { values: ["a", "b"] } },
      }),
    });
    assert.deepEqual(await client.whoAmI({ headers: { "X-Request-Id": "42" } }), {
      username: "42",
      uid: "u1",
      groups: ["readers"],
      extra: { scopes: ["a", "b"] },
    });
  });

  test("fails after the timeout of the call", async () => {
    const client = accessClientOf({
      whoAmI: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reject(signal.reason as Error);
          });
        }),
    });
    await assert.rejects(client.whoAmI({ timeoutMs: 1 }), { code: Code.DeadlineExceeded });
  });
});

suite("checkAccess", () => {
  test("sends each check, and returns the decisions in their order", async () => {
    const requests: CheckAccessRequest[] = [];
    const client = accessClientOf({
      checkAccess(request) {
        requests.push(request);
        return { decisions: [{ allowed: true, reason: "RBAC" }, { allowed: false }] };
      },
    });
    const scale = { verb: "update", resource: "deployments", subresource: "scale" };
    const decisions = await client.checkAccess([
      { ...scale, namespace: "default", name: "web" },
      { verb: "list", resource: "secrets" },
    ]);
    assert.deepEqual(decisions, [
      { allowed: true, reason: "RBAC" },
      { allowed: false, reason: "" },
    ]);
    const checks = [
      { ...scale, namespace: "default", name: "web" },
      { verb: "list", resource: "secrets" },
    ];
    assert.deepEqual(requests, [create(CheckAccessRequestSchema, { checks })]);
  });

  test("fails if there is not one decision for each check", async () => {
    const client = accessClientOf({ checkAccess: () => ({ decisions: [] }) });
    const check = { verb: "list", resource: "pods" };
    await assert.rejects(client.checkAccess([check]), { code: Code.Internal });
  });
});
