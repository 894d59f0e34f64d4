// Serves the built page with a fake cluster, for the development of the page:
//
//   PODS=10000 CHANGES=20 PORT=8000 npm run dev --workspace=web
//
// PODS is the number of pods, CHANGES the number of changes per second.
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ResourceService } from "@kubeconnect/client/proto";
import { FakeCluster } from "./cluster.js";

const cluster = new FakeCluster(Number(process.env.PODS ?? 40));
const changes = Number(process.env.CHANGES ?? 1);
const port = Number(process.env.PORT ?? 8000);

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

async function sendFile(path: string, response: ServerResponse): Promise<void> {
  const file = path === "/" ? "/index.html" : path;
  try {
    const content = await readFile(join(import.meta.dirname, "../dist", file));
    response.setHeader("Content-Type", types[extname(file)] ?? "application/octet-stream");
    response.setHeader(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
        "connect-src 'self'; form-action 'none'; require-trusted-types-for 'script'",
    );
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
}

createServer(
  connectNodeAdapter({
    routes: ({ service }) => {
      service(ResourceService, cluster.service);
    },
    fallback: (request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://page");
      void sendFile(pathname, response as ServerResponse);
    },
  }),
).listen(port, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${port}/`);
});

if (changes > 0) {
  setInterval(() => {
    cluster.live();
  }, 1000 / changes);
}
