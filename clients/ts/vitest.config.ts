import { defineConfig } from "vitest/config";

/** The tests of the React entry. All others are run by node:test. */
export default defineConfig({
  test: {
    include: ["test/react/**/*.test.tsx"],
    environment: "happy-dom",
    setupFiles: ["test/react/setup.ts"],
    maxWorkers: 2,
  },
});
