// A Node.js program that connects to the containers of a pod, by the package ws or by the WebSocket of the
// runtime, as browsers do.
//
// node containers.mjs ws|runtime ADDRESS CA_FILE TOKEN_FILE PLAIN_ADDRESS NAMESPACE FOLDER
//
// The folder has files in "source", and the copies are written there. It prints each step as a line of JSON.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import { KubeconnectError } from "@kubeconnect/client";
import { connectContainers, CopyError } from "@kubeconnect/client/containers/node";
import { connectContainers as connectWeb } from "@kubeconnect/client/containers/web";
import { WebSocket } from "ws";

import { report } from "../report.mjs";

const [way, address, caFile, tokenFile, plain, namespace, folder] = process.argv.slice(2);

/** A port that sends back what it receives, and one at which no process listens. */
const [echo, refused] = [7, 8];

const one = { namespace, name: "one" };
const script = ["sh", "-c", "cat; echo error >&2; exit 3"];
const input = Buffer.alloc(320_000, "0123456789abcdef");

const isRuntime = way === "runtime";
// Node.js 20 has none. That of the package has the same interface.
if (isRuntime) globalThis.WebSocket ??= WebSocket;

const open = isRuntime ? connectWeb : connectContainers;
{
  const { stdout } = await open(plain).exec(one, ["echo", "hello"]);
  report("plain", { text: text(stdout) });
}
const options = isRuntime
  ? { token: readFileSync(tokenFile, "utf8") }
  : { tokenFile, tls: { ca: readFileSync(caFile, "utf8") } };
const client = open(address, options);
const result = await client.exec(one, script, { stdin: input });
const { stdout, stderr, exitCode } = result;
report("executed", { same: input.equals(stdout), text: text(stderr), code: exitCode });
await useTerminal(await client.openExec(one, ["sh"], { tty: true }));
if (!isRuntime) await copy();
{
  const session = await client.attach(one, { stdin: true });
  await session.write("typed\n");
  report("attached", { ...(await summary(session)), code: session.exitCode });
}
if (!isRuntime) await forward();
await stream();
await fail();
report("connections", { code: isRuntime ? 0 : await keptConnections() });

/** Returns the number of connections that stay open, and keep the program from ending. */
async function keptConnections() {
  const count = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  for (let attempt = 0; attempt < 100 && count() > 0; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return count();
}

async function useTerminal(session) {
  let shown = await until(session, "/ # ");
  await session.resize({ width: 132, height: 43 });
  while (!shown.includes("\n43 132\r\n")) {
    await session.write("stty size\r");
    shown = await until(session, "/ # ");
  }
  await session.write("exit 4\r");
  report("terminal", { ...(await summary(session)), code: session.exitCode });
}

/** Returns what a terminal shows up to a prompt. */
async function until(session, prompt) {
  let shown = "";
  while (!shown.endsWith(prompt)) shown += text((await session.read()).data);
  return shown;
}

/** Copies a folder and a file to the container and back. */
async function copy() {
  const source = join(folder, "source");
  const back = join(folder, "back");
  await client.copyTo(source, one, "/tmp/copied");
  await client.copyFrom(one, "/tmp/copied", back);
  await client.copyTo(join(source, "large"), one, "/tmp/-large");
  await client.copyFrom(one, "/tmp/-large", join(folder, "large"));
  const files = readdirSync(back, { recursive: true })
    .filter((path) => statSync(join(back, path)).isFile())
    .sort();
  const isSame = (a, b) => readFileSync(a).equals(readFileSync(b));
  report("copied", {
    files,
    same:
      files.every((path) => isSame(join(source, path), join(back, path))) &&
      isSame(join(source, "large"), join(folder, "large")),
    executable: (statSync(join(back, "run.sh")).mode & 0o100) !== 0,
  });
  try {
    await client.copyFrom(one, "/tmp/nothing", join(folder, "none"));
  } catch (error) {
    if (!(error instanceof CopyError)) throw error;
    report("not copied", { code: error.exitCode, message: error.message });
  }
}

/** Uses two connections to a port at the same time, and a port that refuses. */
async function forward() {
  const forwarded = await client.portForward(one, echo);
  const [first, last] = [connect(forwarded.localPort), connect(forwarded.localPort)];
  const lines = [first, last].map((local) => local[Symbol.asyncIterator]());
  let echoes = "";
  for (let number = 0; number < 3; number++) {
    for (const local of [last, first]) local.write(`${number}\n`);
    for (const line of lines) echoes += text((await line.next()).value);
  }
  report("forwarded", { text: echoes, address: forwarded.address });
  forwarded.close();
}

async function stream() {
  const stream = await client.openPort(one, echo);
  const writing = stream.write(input);
  let received = Buffer.alloc(0);
  while (received.length < input.length) {
    received = Buffer.concat([received, await stream.read()]);
  }
  await writing;
  report("streamed", { same: input.equals(received) });
  stream.close();
  const nobody = await client.openPort(one, refused);
  await described("refused", nobody.read());
  nobody.close();
  if (isRuntime) return;
  const failed = new Promise((resolve) => {
    void client.portForward(one, refused, { onError: resolve }).then((forwarded) => {
      const local = connect(forwarded.localPort);
      local.on("error", ({ code }) => (ended = code));
    });
  });
  let ended = "";
  const { message } = await failed;
  while (ended === "") await new Promise((resolve) => setImmediate(resolve));
  report("closed connection", { text: ended === "ECONNRESET" ? "reset" : ended, message });
}

async function fail() {
  await described("missing pod", client.exec({ namespace, name: "nobody" }, ["true"]));
  await described("missing container", client.exec(one, ["true"], { container: "none" }));
  await described("missing program", client.exec(one, ["nothing"]));
  await described("unreachable", client.exec({ namespace, name: "lost" }, ["true"]));
  await described("forbidden", client.attach({ namespace: "default", name: "one" }));
  await described("late", client.exec(one, ["sleep", "infinity"], { timeoutMs: 500 }));
  const session = await client.openExec(one, ["cat"]);
  await session.write("typed");
  await session.read();
  client.close();
  await described("closed", session.read());
}

/** Reports how a call fails. */
async function described(step, call) {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof KubeconnectError)) throw error;
    const { name, reason, message, requestId } = error;
    report(step, { kind: name.replace(/Error$/, ""), reason, message, requestID: requestId });
  }
}

/** Returns the output of each stream. */
async function summary(session) {
  const parts = { stdout: "", stderr: "" };
  for await (const { stream, data } of session) parts[stream] += text(data);
  return parts;
}

function text(bytes) {
  return Buffer.from(bytes).toString();
}
