import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { KubeconnectError } from "@kubeconnect/client";
import { StatusSchema } from "@kubeconnect/client/proto";
import { causesBeside, countOf, noticeOf, reasonFor, titleOf } from "../src/words.js";

suite("the reason of a lost connection", () => {
  test("is plain where the browser's own words are not", () => {
    for (const words of ["Failed to fetch", "network error", "Load failed"]) {
      assert.equal(
        reasonFor(KubeconnectError.from(new TypeError(words))),
        "the service cannot be reached",
      );
    }
  });
  test("is the service's own where it has one", () => {
    const error = KubeconnectError.unavailable("the API server cannot be reached");
    assert.equal(reasonFor(error), "the API server cannot be reached");
  });
});

suite("the causes of an error", () => {
  function listed(message: string, ...fields: string[]): string[] {
    const causes = fields.map((field) => ({ field, message: "must be lower case" }));
    const error = KubeconnectError.fromStatus(create(StatusSchema, { message, causes }));
    return causesBeside(error).map(({ field }) => field);
  }
  test("are listed where the message does not say it", () => {
    assert.deepEqual(listed("Pod is invalid", "a"), ["a"]);
  });
  test("are not listed where the message says it all", () => {
    assert.deepEqual(listed("Pod is invalid: a: must be lower case", "a"), []);
  });
  test("are listed once each where there are several", () => {
    assert.deepEqual(listed("Pod is invalid: must be lower case", "a", "b", "a"), ["a", "b"]);
  });
});

test("the count says how many are hidden", () => {
  assert.equal(countOf(1, 1), "1 pod");
  assert.equal(countOf(10_000, 10_000), "10,000 pods");
  assert.equal(countOf(0, 1), "0 of 1 pod");
});

test("an empty table says why", () => {
  assert.equal(noticeOf({ synced: false, arriving: 0, all: 0 }), "Waiting for the first pods…");
  assert.equal(noticeOf({ synced: false, arriving: 1500, all: 0 }), "1,500 pods so far…");
  assert.equal(noticeOf({ synced: true, arriving: 0, all: 0 }), "There are no pods here.");
  assert.equal(noticeOf({ synced: true, arriving: 0, all: 3 }), "No pod matches the filter.");
});

test("a lost cluster is told with the time, as the clock beside the page shows it", () => {
  const lastContact = new Date(2026, 0, 2, 12, 31, 7);
  assert.equal(
    titleOf({ state: "stale", lastContact }),
    "The cluster has not been heard of since 12:31:07",
  );
  assert.equal(
    titleOf({ state: "stale", lastContact: undefined }),
    "The cluster cannot be reached",
  );
});
