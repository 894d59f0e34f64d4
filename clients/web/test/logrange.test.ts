import { describe, expect, test } from "vitest";
import { topFor, visibleRows, withMargin, type Align } from "../src/logs/range.js";

describe("visibleRows", () => {
  test.each([
    ["at the top", { top: 0, height: 100 }, { first: 0, end: 5 }],
    ["between two rows", { top: 30, height: 100 }, { first: 1, end: 7 }],
    ["at the end", { top: 1900, height: 100 }, { first: 95, end: 100 }],
    ["after rows were removed", { top: 5000, height: 100 }, { first: 100, end: 100 }],
    ["beyond the top, as with elastic scrolling", { top: -50, height: 100 }, { first: 0, end: 3 }],
  ])("%s", (_, viewport, range) => {
    expect(visibleRows(viewport, 20, 100)).toEqual(range);
  });

  test("has a margin only where there are rows", () => {
    expect(withMargin({ first: 5, end: 95 }, 10, 100)).toEqual({ first: 0, end: 100 });
    expect(withMargin({ first: 50, end: 60 }, 10, 100)).toEqual({ first: 40, end: 70 });
  });
});

test.each<[Align, number, number]>([
  ["start", 50, 1000],
  ["center", 50, 960],
  ["end", 50, 920],
  ["nearest", 50, 920],
  ["nearest", 12, 200],
  ["nearest", 3, 60],
])("a row that is scrolled to %s: %i", (align, index, top) => {
  expect(topFor(index, align, 20, { top: 200, height: 100 })).toBe(top);
});
