/** Returns numbers from 0 to 1, the same ones for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Texts that mean something in TypeScript, in comments or in literals. */
const texts = [
  "",
  "name",
  "a-b",
  "1st",
  "class",
  "__proto__",
  "constructor",
  "*/ export const injected: number = 1; /*",
  "@ts-expect-error",
  '/// <reference types="x" />',
  '"; injected(); "',
  'it\'s "both" `kinds`',
  "`${process.exit(1)}`",
  "\\",
  "\\u0041",
  "line\nbreak\r\nand\u2028more",
  "\u202egnp.exe",
  "\ud800",
  "ünïcödé",
  "aVeryLongNameThatDoesNotFitIntoALineTogetherWithAnythingElseThatIsAsLongAsItself",
  "some words ".repeat(30),
];

/** Returns a JSON value that looks like a schema, with parts of any form. */
export function randomSchema(next: () => number, depth = 4): unknown {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T;
  const some = <T>(make: () => T): T[] => Array.from({ length: Math.floor(next() * 4) }, make);
  const text = () => pick(texts);
  const maybe = (field: string, make: () => unknown) => (next() < 0.5 ? { [field]: make() } : {});
  const schema = (): unknown => randomSchema(next, depth - 1);
  const anything = () => pick<unknown>([null, true, 1.5, -1, 1e21, text(), [], {}, [text()]]);
  if (depth === 0 || next() < 0.1) return anything();
  return {
    ...maybe("description", () => (next() < 0.9 ? text() : anything())),
    ...maybe("type", () => pick<unknown>([...types, [text(), "null"], anything()])),
    ...maybe("properties", () => Object.fromEntries(some(() => [text(), schema()]))),
    ...(next() < 0.3 && { items: schema() }),
    ...(next() < 0.3 && { additionalProperties: schema() }),
    ...(next() < 0.2 && { enum: some(anything) }),
    ...(next() < 0.2 && { enum: some(text) }),
    ...(next() < 0.2 && { [pick(["oneOf", "anyOf", "allOf"])]: some(schema) }),
    ...(next() < 0.1 && { $ref: `#/components/schemas/${text()}` }),
    ...(next() < 0.1 && { $ref: "#/components/schemas/node" }),
    ...(next() < 0.2 && { nullable: true }),
    ...(next() < 0.2 && { "x-kubernetes-preserve-unknown-fields": true }),
    ...(next() < 0.2 && { "x-kubernetes-int-or-string": true }),
    ...maybe("required", () => some(text)),
  };
}

const types = ["object", "object", "array", "string", "integer", "number", "boolean"];
