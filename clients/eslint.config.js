import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default defineConfig(
  globalIgnores(["**/dist/", "ts/src/gen/", "ts/src/k8s/", "ts/test/golden/", "python/"]),
  {
    files: ["**/*.{ts,tsx}"],
    extends: [
      js.configs.recommended,
      ts.configs.strictTypeChecked,
      ts.configs.stylisticTypeChecked,
    ],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // An empty string of a message is an absent one.
      "@typescript-eslint/prefer-nullish-coalescing": [
        "error",
        { ignorePrimitives: { string: true } },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["web/**/*.{ts,tsx}"],
    extends: [hooks.configs.flat.recommended],
    rules: {
      "react-hooks/exhaustive-deps": "error",
      "react-hooks/unsupported-syntax": "error",
      // It names what the React Compiler would leave as it is. The compiler is not used.
      "react-hooks/incompatible-library": "off",
    },
  },
  {
    // node:test reports the promise of test() itself.
    files: ["*/test/**/*.{ts,tsx}"],
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        {
          allowForKnownSafeCalls: [
            { from: "package", package: "node:test", name: ["test", "suite"] },
          ],
        },
      ],
    },
  },
);
