import assert from "node:assert/strict";
import { createServer } from "node:net";
import { suite, test } from "node:test";
import { UnavailableError } from "../src/index.js";
import { connect } from "../src/web.js";

suite("the client of browsers", () => {
  test("reports a service that cannot be reached as unavailable", async () => {
    const client = connect(await addressWithoutService());
    await assert.rejects(client.whoAmI(), (error: unknown) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(error.message, /^the service cannot be reached: /);
      return true;
    });
    await assert.rejects(client.list("pods").all(), UnavailableError);
    await assert.rejects(async () => {
      for await (const event of client.watch("pods", { reconnect: false })) assert.fail(event.type);
    }, UnavailableError);
  });

  test("rejects a call that is cancelled with the signal's reason", async () => {
    const client = connect(await addressWithoutService());
    const reason = new Error("left");
    await assert.rejects(client.whoAmI({ signal: AbortSignal.abort(reason) }), reason);
  });
});

/** Returns an address of this host at which nothing listens. */
async function addressWithoutService(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(address !== null && typeof address === "object");
  return `http://127.0.0.1:${address.port}`;
}
