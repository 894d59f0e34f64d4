import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { suite, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import * as kubeconnect from "../src/index.js";
import { KubeconnectError } from "../src/index.js";
import { connect } from "../src/node.js";
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
  { message: "unsupported content type text/html", wanted: /text\/html: .* check the address/ },
  {
    message: "SSL routines",
    cause: Object.assign(new Error(), { code: "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL" }),
    wanted: /does not use HTTP\/2 .* check the address/,
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

/** Servers at which no service of kubeconnect listens, and what the errors of calls there say. */
const servers: readonly {
  name: string;
  scheme: "http" | "https";
  server: () => Server;
  wanted: RegExp;
}[] = [
  {
    name: "a service with TLS at http://",
    scheme: "http",
    server: () => createTlsServer(),
    wanted: /the connection was closed before .*; if the service uses TLS, use https:/,
  },
  {
    name: "a service without TLS at https://",
    scheme: "https",
    server: () => createHttp2Server(),
    wanted: /does not use TLS .* use http:/,
  },
  {
    name: "a server of HTTP/1.1",
    scheme: "http",
    server: () => createHttpServer(),
    wanted: /does not use HTTP\/2 .* check the address, .*; if the service uses TLS, use https:/,
  },
  {
    name: "another server of HTTP/2",
    scheme: "http",
    server: () => createHttp2Server((_, response) => response.writeHead(404).end("none")),
    wanted: /^HTTP 404: .* not one of kubeconnect; check the address/,
  },
  {
    name: "a server of pages",
    scheme: "http",
    server: () =>
      createHttp2Server((_, response) =>
        response.writeHead(200, { "Content-Type": "text/html" }).end("<html>"),
      ),
    wanted: /content type text\/html: .* not one of kubeconnect; check the address/,
  },
  {
    name: "the API server",
    scheme: "http",
    server: () =>
      createHttp2Server((_, response) =>
        response
          .writeHead(403, { "Audit-Id": "1", "Content-Type": "application/json" })
          .end('{"kind": "Status", "message": "forbidden", "code": 403}'),
      ),
    wanted: /address of the API server of Kubernetes; .* address of the service of kubeconnect/,
  },
];

for (const protocol of ["grpc", "connect"] as const) {
  suite(`the error of a call by ${protocol} to`, () => {
    for (const { name, scheme, server: create, wanted } of servers) {
      test(`${name} says what is wrong, and what to do`, async (t) => {
        const server = create();
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { port } = server.address() as AddressInfo;
        const client = connect(`${scheme}://127.0.0.1:${port}`, { protocol });
        t.after(() => {
          client.close();
          server.close();
        });
        const events = client.watch("pods")[Symbol.asyncIterator]();
        for (const call of [() => client.whoAmI(), () => events.next()]) {
          await assert.rejects(call, (error: unknown) => {
            assert.ok(error instanceof KubeconnectError);
            assert.ok(!(error instanceof kubeconnect.CancelledError), error.message);
            assert.match(error.message, wanted);
            return true;
          });
        }
      });
    }
  });
}

suite("the error of a call whose connection is lost", () => {
  for (const code of ["ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_HTTP2_INVALID_STREAM"]) {
    test(`with ${code} is no conflict`, () => {
      const cause = Object.assign(new Error("lost"), { code });
      const lost = new ConnectError("lost", Code.Aborted, undefined, undefined, cause);
      const error = KubeconnectError.from(lost);
      assert.deepEqual([error.name, error.code], ["UnavailableError", Code.Unavailable]);
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
