import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { KubeconnectError } from "@kubeconnect/client";
import { StatusSchema } from "@kubeconnect/client/proto";
import {
  additionalCauses,
  countOf,
  coverageOf,
  noticeOf,
  reasonFor,
  refusalOf,
  titleOf,
} from "../src/text.js";

suite("the reason of a lost connection", () => {
  test("replaces the messages of browsers", () => {
    for (const message of ["Failed to fetch", "network error", "Load failed"]) {
      assert.equal(
        reasonFor(KubeconnectError.from(new TypeError(message))),
        "the service cannot be reached",
      );
    }
  });
  test("is plain if the service is silent", () => {
    const error = KubeconnectError.unavailable("no message received for 12 s");
    assert.equal(reasonFor(error), "the service does not respond");
  });
  test("is the message of the service, if there is one", () => {
    const error = KubeconnectError.unavailable("the API server cannot be reached");
    assert.equal(reasonFor(error), "the API server cannot be reached");
  });
});

suite("the rejection of a token", () => {
  test("is the message of the error", () => {
    assert.equal(refusalOf(new Error("token is empty")), "token is empty");
    assert.equal(refusalOf(KubeconnectError.unavailable("try again")), "try again");
  });
  test("is plain if the service cannot be reached", () => {
    const error = KubeconnectError.from(new TypeError("Failed to fetch"));
    assert.equal(refusalOf(error), "the service cannot be reached");
  });
});

suite("the causes of an error", () => {
  function listed(message: string, ...fields: string[]): string[] {
    const causes = fields.map((field) => ({ field, message: "must be lower case" }));
    const error = KubeconnectError.fromStatus(create(StatusSchema, { message, causes }));
    return additionalCauses(error).map(({ field }) => field);
  }
  test("are listed if the message does not contain them", () => {
    assert.deepEqual(listed("Pod is invalid", "a"), ["a"]);
  });
  test("are not listed if the message contains them", () => {
    assert.deepEqual(listed("Pod is invalid: a: must be lower case", "a"), []);
  });
  test("are listed once each if there are several", () => {
    assert.deepEqual(listed("Pod is invalid: must be lower case", "a", "b", "a"), ["a", "b"]);
  });
});

test("the count includes the number of all pods", () => {
  assert.equal(countOf(1, 1), "1 pod");
  assert.equal(countOf(10_000, 10_000), "10,000 pods");
  assert.equal(countOf(0, 1), "0 of 1 pod");
});

test("a table of some namespaces shows which", () => {
  assert.equal(coverageOf([]), "");
  assert.equal(coverageOf(["shop"]), "in shop, the only namespace that you are allowed to list");
  assert.equal(coverageOf(["bank", "shop"]), "in the 2 namespaces that you are allowed to list");
});

test("a lost service is shown with the time of its last message, if there was one", () => {
  const lost = { state: "reconnecting", reason: "the service does not respond" } as const;
  assert.equal(
    titleOf({ ...lost, lastMessage: new Date(2026, 0, 2, 12, 31, 7) }),
    "Reconnecting: the service does not respond (last message at 12:31:07)",
  );
  assert.equal(
    titleOf({ ...lost, lastMessage: undefined }),
    "Reconnecting: the service does not respond",
  );
});

test("an empty table shows the reason", () => {
  const live = { state: "live" } as const;
  const none = { synced: false, arriving: 0, all: 0 };
  assert.equal(noticeOf({ state: "connecting" }, none), "Loading pods…");
  assert.equal(
    noticeOf({ state: "connecting" }, { ...none, arriving: 1500 }),
    "Loading: 1,500 pods so far…",
  );
  assert.equal(noticeOf(live, { ...none, synced: true }), "There are no pods.");
  assert.equal(noticeOf(live, { ...none, synced: true, all: 3 }), "No pods match the filter.");
  assert.equal(noticeOf({ state: "unauthenticated", reason: "" }, none), "Sign in to see pods.");
  assert.match(noticeOf({ state: "forbidden", reason: "" }, none), /not allowed to list pods/);
});

test("a lost cluster is shown with the time, in local time", () => {
  const lastContactTime = new Date(2026, 0, 2, 12, 31, 7);
  assert.equal(
    titleOf({ state: "stale", lastContactTime }),
    "No contact with the cluster since 12:31:07",
  );
  assert.equal(
    titleOf({ state: "stale", lastContactTime: undefined }),
    "The cluster cannot be reached",
  );
});
