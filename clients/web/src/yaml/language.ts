import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { lintGutter, linter, type Diagnostic } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { parseDocument } from "yaml";
import { placeAt, suggest } from "./complete.js";
import type { KindSchema } from "./schema.js";
import { validate, type Problem } from "./validate.js";

/** Completes and validates a text by a schema; without one, only the syntax is validated. */
export function bySchema(
  schema: KindSchema | undefined,
  onProblems: (problems: readonly Problem[]) => void,
): Extension {
  return [
    autocompletion({ override: [(context) => complete(context, schema)], icons: false }),
    lintGutter(),
    linter(
      (view) => {
        const text = view.state.doc.toString();
        const problems = validate(parseDocument(text), schema);
        onProblems(problems);
        return problems.map((each) => diagnosticOf(each, text.length));
      },
      { delay: 300 },
    ),
  ];
}

/** Returns a problem for CodeMirror. It must be within the text. */
export function diagnosticOf({ from, to, severity, message }: Problem, length: number): Diagnostic {
  return { from: Math.min(from, length), to: Math.min(to, length), severity, message };
}

function complete(
  { state, pos, explicit }: CompletionContext,
  schema: KindSchema | undefined,
): CompletionResult | null {
  const place = schema && placeAt(state.doc.toString(), pos);
  if (!place || (!explicit && place.prefix === "" && place.kind === "field")) return null;
  const options = suggest(schema, place).map(({ label, insert, detail, info }) => ({
    label,
    apply: insert,
    detail,
    ...(info && { info }),
  }));
  return options.length ? { from: pos - place.prefix.length, options } : null;
}
