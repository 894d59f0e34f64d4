import assert from "node:assert/strict";
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerOptions,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { connect, KubeconnectError } from "../src/node.js";
import { ResourceService, StatusSchema } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";

type Status = MessageInitShape<typeof StatusSchema>;

/** Returns the validation error of a ConfigMap with many invalid fields. */
function manyCauses(count: number, omittedCauseCount = 0): Status {
  const causes = Array.from({ length: count }, (_, index) => ({
    reason: "FieldValueInvalid",
    message: `Invalid value: "not valid ${index}": a valid config key must consist of letters`,
    field: `data[not valid ${index}]`,
  }));
  return { message: "ConfigMap is invalid", reason: "Invalid", causes, omittedCauseCount };
}

/** Returns the error of a patch with a wrong type, which quotes the complete object twice. */
function quotedObject(length: number): Status {
  const quoted = `cannot restore struct from: ${JSON.stringify({ data: "x".repeat(length) })}`;
  const causes = [{ reason: "FieldValueInvalid", message: quoted, field: "patch" }];
  return { message: quoted, reason: "Invalid", causes };
}

const statuses: Record<string, Status> = {
  "with 300 causes": manyCauses(300),
  "that quotes an object of 60 KB": quotedObject(60_000),
  "as the service bounds it": manyCauses(40, 260),
};

suite("an error", () => {
  let server: Http2Server;
  const sessions = new Set<ServerHttp2Session>();
  let address: string;

  before(async () => {
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(ResourceService, {
          get: ({ name }) => ({ resource: podResource, object: pod(name) }),
          patch: ({ name }) => {
            const value = statuses[name] ?? {};
            const message = value.message ?? "";
            const details = [{ desc: StatusSchema, value }];
            throw new ConnectError(message, Code.InvalidArgument, undefined, details);
          },
        });
      },
    });
    // The option is missing in Node.js' types.
    const options = { maxSendHeaderBlockLength: 1 << 24 } as ServerOptions;
    server = createServer(options, handler);
    server.on("session", (session) => sessions.add(session));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });

  const rejectionOf = async (
    client: ReturnType<typeof connect>,
    name: string,
  ): Promise<KubeconnectError> => {
    const patch = { type: "merge", body: {} } as const;
    const error: unknown = await client.patch("configmaps", { name }, patch).then(
      () => assert.fail("the patch was not rejected"),
      (error: unknown) => error,
    );
    assert.ok(error instanceof KubeconnectError);
    return error;
  };

  for (const protocol of ["grpc", "connect"] as const) {
    for (const name of Object.keys(statuses)) {
      // A single header of more than 64 KiB cannot be received in Node.js.
      if (protocol === "grpc" && name === "that quotes an object of 60 KB") continue;
      test(`${name} is Invalid with its causes, by ${protocol}`, async (t) => {
        const client = connect(address, { protocol });
        t.after(() => {
          client.close();
        });
        const { code, reason, causes, omittedCauseCount } = await rejectionOf(client, name);
        assert.equal(code, Code.InvalidArgument);
        assert.equal(reason, "Invalid");
        assert.equal(causes.length, statuses[name]?.causes?.length);
        assert.equal(omittedCauseCount, statuses[name]?.omittedCauseCount ?? 0);
        assert.equal((await client.get("pods", { name: "web" })).name, "web");
      });
    }
  }

  test("that is too long for the protocol still ends its call", async (t) => {
    const client = connect(address, { protocol: "grpc", timeoutMs: 500 });
    t.after(() => {
      client.close();
    });
    const { code } = await rejectionOf(client, "that quotes an object of 60 KB");
    // Node.js 20 never receives the error; later versions fail the connection.
    assert.ok(code === Code.DeadlineExceeded || code === Code.Internal, Code[code]);
  });
});
