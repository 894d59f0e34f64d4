import { describe, expect, it } from "vitest";
import { allOf, celString, filterErrorOf, nameFilter } from "../src/model/cel.js";
import { completeCel } from "../src/model/celcomplete.js";
import type { Column } from "../src/model/columns/column.js";
import { facetCounts, facetFilter, facetOf, type Facet } from "../src/model/facet.js";
import { nextSort, orderOf, selectionOf, sortOf } from "../src/model/tablequery.js";

describe("celString", () => {
  const rows = [
    { text: "web-0", literal: '"web-0"' },
    { text: `a"b\\c`, literal: '"a\\"b\\\\c"' },
    { text: "a\nb", literal: '"a\\U0000000ab"' },
    { text: '") || true || ("', literal: '"\\") || true || (\\""' },
    { text: "ü🙂", literal: '"\\U000000fc\\U0001f642"' },
    { text: "\ud800", literal: '"\\ufffd"' },
  ];
  it.each(rows)("escapes $text", ({ text, literal }) => {
    expect(celString(text)).toBe(literal);
  });
});

describe("allOf", () => {
  it("keeps a single filter as it is, so that places in it remain", () => {
    expect(allOf([undefined, "a == 1", ""])).toBe("a == 1");
    expect(allOf([undefined])).toBeUndefined();
  });

  it("encloses filters, and ends their comments", () => {
    expect(allOf(["a || b", "c // why"])).toBe("(a || b\n) && (c // why\n)");
  });
});

describe("filterErrorOf", () => {
  it("finds the place of an error", () => {
    const message =
      "filter: ERROR: <input>:1:33: Syntax error: mismatched input\n | object\n | ..^";
    const error = filterErrorOf(message, "object.metadata.nam == 1 && foo(");
    expect(error).toEqual({ message: "Syntax error: mismatched input", offset: 32 });
  });

  it("finds the place in a later line", () => {
    expect(filterErrorOf("filter: ERROR: <input>:2:3: x", "ab\ncdef").offset).toBe(5);
  });

  it("keeps a message without a place", () => {
    const error = filterErrorOf("filter: must be a condition", "1");
    expect(error).toEqual({ message: "must be a condition", offset: undefined });
  });
});

describe("selectionOf", () => {
  it("combines the name, the filter and the quick filter", () => {
    const query = { ns: "shop", q: "web", filter: "true", quick: "Running" };
    const { namespace, filter } = selectionOf(query, true, facetOf("pods"));
    expect(namespace).toBe("shop");
    expect(filter?.split("\n) && (")).toHaveLength(3);
    expect(filter).toContain(nameFilter("web"));
    expect(filter).toContain('object.status.phase == "Running"');
  });

  it("has no namespace for a resource without namespaces", () => {
    expect(selectionOf({ ns: "shop" }, false, undefined).namespace).toBeUndefined();
  });
});

describe("nextSort", () => {
  const column = (reversed: boolean): Column => ({
    id: "a",
    title: "A",
    width: 1,
    paths: [],
    sortPath: "a.b",
    reversed,
    cell: () => ({ text: "" }),
  });
  const rows = [
    { name: "an unsorted column", reversed: false, from: undefined, to: "a.b" },
    { name: "an ascending column", reversed: false, from: "a.b", to: "a.b desc" },
    { name: "a descending column", reversed: false, from: "a.b desc", to: undefined },
    { name: "an unsorted age", reversed: true, from: undefined, to: "a.b desc" },
    { name: "an ascending age", reversed: true, from: "a.b desc", to: "a.b" },
    { name: "another column", reversed: false, from: "c", to: "a.b" },
  ];
  it.each(rows)("follows a click on $name", ({ reversed, from, to }) => {
    expect(nextSort(column(reversed), sortOf(from))).toBe(to);
  });

  it("names the order of ages, not that of times", () => {
    expect(orderOf(column(true), sortOf("a.b desc"))).toBe("ascending");
  });
});

describe("facetCounts", () => {
  const facet = (resource: string): Facet => {
    const found = facetOf(resource);
    if (!found) throw new Error(`no facet of ${resource}`);
    return found;
  };

  it("adds up the groups of a value, and keeps selected values without objects", () => {
    const groups = [
      { values: [3, 3], count: 2 },
      { values: [1, 1], count: 4 },
      { values: [null, null], count: 1 },
      { values: [0, null], count: 1 },
    ];
    const counts = facetCounts(facet("deployments.apps"), groups, []);
    expect(counts.map(({ id, count }) => [id, count])).toEqual([
      ["ready", 6],
      ["unready", 1],
      ["zero", 1],
    ]);
    const none = facetCounts(facet("pods"), [], ["Failed"]);
    expect(none.map(({ label, count }) => [label, count])).toEqual([["Failed", 0]]);
  });

  it("escapes the values of an address", () => {
    expect(facetFilter(facet("secrets"), ['a" || true || "'])).toContain('"a\\" || true || \\""');
    expect(facetFilter(facet("nodes"), ["unknown"])).toBe("false");
  });
});

describe("completeCel", () => {
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const schema = {
    type: "object",
    properties: { spec: { allOf: [reference("Spec")] }, metadata: { type: "object" } },
    components: {
      schemas: {
        Spec: {
          type: "object",
          properties: {
            nodeName: { type: "string" },
            containers: { type: "array", items: reference("Container") },
            labels: { type: "object", additionalProperties: { type: "string" } },
          },
        },
        Container: { type: "object", properties: { image: { type: "string" } } },
      },
    },
  };
  const rows = [
    { text: "obj", options: ["object"] },
    { text: "object.", options: ["metadata", "spec"] },
    { text: "object.spec.no", options: ["nodeName"] },
    { text: "object.spec.nodeName.st", options: ["startsWith("] },
    { text: "object.spec.containers[0].i", options: ["image"] },
    { text: "object.spec.containers.exists(c, c.i", options: ["image"] },
    { text: 'object.spec.labels["a"].end', options: ["endsWith("] },
    { text: 'object.spec.nodeName == "ob', options: [] },
    { text: "object.unknown.", options: [] },
  ];
  it.each(rows)("completes $text", ({ text, options }) => {
    const found = completeCel(text, text.length, schema);
    expect(found.options.map((option) => option.text)).toEqual(options);
  });

  it("replaces the word before the cursor", () => {
    expect(completeCel("true && obj == 1", 11, schema).from).toBe(8);
  });
});
