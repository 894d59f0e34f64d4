/**
 * Streams of several callers, as a program with the TypeScript client keeps them.
 *
 * node streams.mjs ADDRESS MODULE
 *
 * MODULE is the path of the client for Node.js. The program reads a JSON list of streams from standard
 * input: the number, the namespace and the token of each. It prints a line of JSON for each batch, and
 * for each stream that is lost or has ended.
 */
import { readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

/** The time after which a stream that has ended with an error is opened as a new one. */
const RESTART_MS = 1000;

const [address, module] = process.argv.slice(2);
const { connect } = await import(module);
await Promise.all(JSON.parse(readFileSync(0, "utf8")).map(keep));

/** Keeps one stream, over a connection of its own. */
async function keep({ stream, namespace, token }) {
  const client = connect(address, { token });
  const objects = new Map();
  let sum = 0;
  const report = (values) => writeSync(1, JSON.stringify({ stream, sum, ...values }) + "\n");
  const remove = (name) => {
    const old = objects.get(name);
    if (old) sum -= checksum(old);
    objects.delete(name);
  };
  const apply = ({ type, object }) => {
    if (type === "RESET") {
      objects.clear();
      sum = 0;
    } else if (type === "DELETED") {
      if (objects.get(object.name)?.uid === object.uid) remove(object.name);
    } else if (object) {
      remove(object.name);
      objects.set(object.name, object);
      sum += checksum(object);
    }
  };
  for (;;) {
    let begins = "without a token"; // the cause if the next batch has a RESET
    const watch = client.watch("configmaps", {
      namespace,
      onRetry(error) {
        begins = watch.resumeToken ? "after resuming" : "without a token";
        report({ lost: `TypeScript ${error.name}` });
      },
    });
    try {
      for await (const { events } of watch.batches()) {
        events.forEach(apply);
        const reset = events.some(({ type }) => type === "RESET") ? begins : "";
        report({ stale: watch.freshness?.stale ?? true, reset });
        begins = "in an open stream";
      }
    } catch (error) {
      report({ ended: `TypeScript ${error.name}` });
    }
    await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
  }
}

/** Returns the checksum of one state of an object. */
function checksum({ name, resourceVersion }) {
  return crc32(`${name} ${resourceVersion}`);
}
