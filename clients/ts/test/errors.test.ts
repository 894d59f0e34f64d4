import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import * as kubeconnect from "../src/index.js";
import { KubeconnectError } from "../src/index.js";
import { StatusSchema } from "../src/proto.js";
import { clientOf } from "./fixture.js";

type ClassName = Extract<keyof typeof kubeconnect, `${string}Error`>;

/** The classes of the errors with each code, and with a reason where there is one. */
const cases: readonly { code: Code; reason?: string; classes: readonly ClassName[] }[] = [
  { code: Code.Aborted, classes: ["ConflictError"] },
  { code: Code.AlreadyExists, classes: ["AlreadyExistsError"] },
  { code: Code.Canceled, classes: ["CancelledError"] },
  { code: Code.DataLoss, classes: ["UnreadableObjectError"] },
  { code: Code.DeadlineExceeded, classes: ["DeadlineExceededError"] },
  { code: Code.FailedPrecondition, classes: [] },
  { code: Code.Internal, classes: ["InternalError"] },
  { code: Code.InvalidArgument, classes: ["InvalidArgumentError"] },
  { code: Code.InvalidArgument, reason: "BadRequest", classes: ["InvalidArgumentError"] },
  {
    code: Code.InvalidArgument,
    reason: "Invalid",
    classes: ["InvalidError", "InvalidArgumentError"],
  },
  { code: Code.NotFound, classes: ["NotFoundError"] },
  { code: Code.OutOfRange, classes: ["ExpiredError"] },
  { code: Code.PermissionDenied, classes: ["ForbiddenError"] },
  { code: Code.ResourceExhausted, classes: ["ResourceExhaustedError"] },
  {
    code: Code.ResourceExhausted,
    reason: "TooManyRequests",
    classes: ["TooManyRequestsError", "ResourceExhaustedError"],
  },
  { code: Code.Unauthenticated, classes: ["UnauthenticatedError"] },
  { code: Code.Unavailable, classes: ["UnavailableError"] },
  { code: Code.Unimplemented, classes: ["UnimplementedError"] },
  { code: Code.Unknown, classes: [] },
];

/** What a connection can report, and what the message of the error says. */
const unclear: readonly { message: string; cause?: Error; wanted: RegExp }[] = [
  { message: "HTTP 405", wanted: /^HTTP 405: .* not one of kubeconnect; check the address/ },
  { message: "HTTP 405 of the service", wanted: /^HTTP 405 of the service$/ },
  {
    message: "SSL routines",
    cause: Object.assign(new Error(), { code: "ERR_SSL_WRONG_VERSION_NUMBER" }),
    wanted: /does not use TLS .* use http:/,
  },
  {
    message: "fetch failed",
    cause: new TypeError("fetch failed", {
      cause: Object.assign(new Error(), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" }),
    }),
    wanted: /pass the certificate of its authority as tls\.ca/,
  },
  {
    message: "refused",
    cause: Object.assign(new Error(), { code: "ECONNREFUSED" }),
    wanted: /^refused$/,
  },
];

suite("the error of a connection", () => {
  for (const { message, cause, wanted } of unclear) {
    test(`"${message}" says what to do`, () => {
      const error = new ConnectError(message, Code.Internal, undefined, undefined, cause);
      assert.match(KubeconnectError.from(error).message, wanted);
      assert.equal(KubeconnectError.from(error).requestId, "");
    });
  }
});

suite("the error of a call", () => {
  for (const { code, reason = "", classes } of cases) {
    const name = classes[0] ?? "KubeconnectError";
    test(`with the code ${Code[code]} ${reason} is a ${name}`, async () => {
      const error = await failed(code, reason);
      assert.deepEqual([error.name, error.code, error.reason], [name, code, reason]);
      assert.equal(error.requestId, "7");
      assert.deepEqual(classesOf(error), new Set([...classes, "KubeconnectError"]));
    });

    test(`with the code ${Code[code]} ${reason} has the same class with another message`, async () => {
      const error = await failed(code, reason);
      const other = error.withMessage("other");
      assert.equal(other.message, "other");
      assert.equal(other.constructor, error.constructor);
      assert.equal(other.reason, error.reason);
      assert.equal(other.requestId, "7");
    });
  }
});

/** Returns the names of all classes of the package that an error is an instance of. */
function classesOf(error: Error): Set<string> {
  const all = Object.entries(kubeconnect).filter(([name]) => name.endsWith("Error"));
  return new Set(
    all
      .filter(([, each]) => error instanceof (each as typeof KubeconnectError))
      .map(([name]) => name),
  );
}

async function failed(code: Code, reason: string): Promise<KubeconnectError> {
  const client = clientOf({
    get(_, { responseHeader }) {
      responseHeader.set("X-Request-Id", "7");
      const error = new ConnectError("message", code);
      if (reason)
        error.details.push({ desc: StatusSchema, value: create(StatusSchema, { reason }) });
      throw error;
    },
  });
  const error: unknown = await client.get("pods", { name: "web" }).catch((error: unknown) => error);
  assert.ok(error instanceof KubeconnectError);
  return error;
}
