// A Node.js program that calls within a trace.
//
// node traced.mjs grpc|connect|web ADDRESS TOKEN NAMESPACE TRACEPARENT
//
// "web" is the client for browsers. The program reads the ConfigMap "traced", and the first event of a
// watch.

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { context, propagation, ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";

const [protocol, address, token, namespace, traceparent] = process.argv.slice(2);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const client =
  protocol === "web" ? connectWeb(address, { token }) : connect(address, { protocol, token });
try {
  await context.with(propagation.extract(ROOT_CONTEXT, { traceparent }), async () => {
    await client.get("configmaps", { namespace, name: "traced" });
    for await (const event of client.watch("configmaps", { namespace })) {
      if (event) break;
    }
  });
} finally {
  client.close?.();
}
