import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The address of a running service, to which the development server forwards calls.
const service = process.env.KUBECONNECT ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: { conditions: ["@kubeconnect/source", "module", "browser", "development|production"] },
  build: {
    target: ["chrome116", "firefox121", "safari17.4"],
    modulePreload: { polyfill: false }, // all of these browsers have it
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: addresses
    sourcemap: false,
    emptyOutDir: true,
  },
  server: {
    port: 5173,
    // Without authentication, the service accepts calls from pages of its own origin only.
    proxy: {
      "^/kubeconnect\\.v1\\..*": { target: service, headers: { origin: service } },
      "/console.json": service,
      "^/api/.*": { target: service, ws: true, headers: { origin: service } },
    },
  },
  test: {
    environment: "node", // a test that needs a page says so in its first line
    include: ["test/**/*.test.{ts,tsx}"],
    testTimeout: 20_000, // only a failing test waits so long
  },
});
