import type { KubeObject } from "@kubeconnect/client";
import { describe, expect, it, vi } from "vitest";
import { labelsOf, runBulk } from "../src/model/bulk.js";
import { ChangeTracker, markDuration } from "../src/model/changes.js";
import { nameColumn, pathColumn } from "../src/model/columns/common.js";
import { csv, csvCell } from "../src/model/csv.js";
import { limitFor, shiftOf, windowFor } from "../src/model/pagewindow.js";
import {
  extended,
  namespacesOf,
  nothingSelected,
  rangeBetween,
  reduced,
  toggled,
} from "../src/model/rowselection.js";

describe("csv", () => {
  const rows = [
    { text: "=1+1", cell: "'=1+1" },
    { text: "+cmd", cell: "'+cmd" },
    { text: "-cmd", cell: "'-cmd" },
    { text: "@sum", cell: "'@sum" },
    { text: "\tx", cell: `"'\tx"` },
    { text: "a;=1+1", cell: `"a;'=1+1"` },
    { text: 'a\t"=1+1"', cell: `"a\t""'=1+1"""` },
    { text: "\t=1+1", cell: `"'\t'=1+1"` },
    { text: "\uff1d1+1", cell: "'\uff1d1+1" },
    { text: "a;b -c", cell: '"a;b -c"' },
    { text: "-12.5", cell: "-12.5" },
    { text: '=HYPERLINK("x")', cell: `"'=HYPERLINK(""x"")"` },
    { text: "a,b", cell: '"a,b"' },
    { text: 'say "hi"', cell: '"say ""hi"""' },
    { text: "two\nlines", cell: '"two\nlines"' },
    { text: "plain", cell: "plain" },
  ];
  it.each(rows)("escapes $text", ({ text, cell }) => {
    expect(csvCell(text)).toBe(cell);
  });

  it("ends each row as RFC 4180 says", () => {
    expect(csv([["a", "b"], ["1"]])).toBe("a,b\r\n1\r\n");
  });
});

const row = (name: string, namespace = "shop") => ({
  key: `${namespace}/${name}`,
  namespace,
  name,
});

describe("a selection of rows", () => {
  it("keeps rows by their keys", () => {
    const one = toggled(nothingSelected, row("a"));
    const two = extended(one, [row("b"), row("a", "billing")]);
    expect([...two.keys()]).toEqual(["shop/a", "shop/b", "billing/a"]);
    expect(namespacesOf(two)).toEqual(["billing", "shop"]);
    expect([...toggled(two, row("b")).keys()]).toEqual(["shop/a", "billing/a"]);
    expect([...reduced(two, ["shop/a"]).keys()]).toEqual(["shop/b", "billing/a"]);
    expect(nothingSelected.size).toBe(0);
  });

  it("extends in both directions", () => {
    expect(rangeBetween(7, 3)).toEqual({ first: 3, last: 7 });
  });
});

describe("windowFor", () => {
  const present = { offset: 0, limit: 100 };

  it("remains while the visible rows have others on both sides", () => {
    expect(windowFor(present, 0, 40, 1000)).toBe(present);
    expect(windowFor(present, 30, 70, 1000)).toBe(present);
  });

  it("moves the visible rows into its middle", () => {
    expect(windowFor(present, 500, 540, 1000)).toEqual({ offset: 470, limit: 100 });
  });

  it("ends with the last row, and does not begin before the first one", () => {
    expect(windowFor(present, 960, 1000, 1000)).toEqual({ offset: 900, limit: 100 });
    expect(windowFor({ offset: 500, limit: 100 }, 0, 40, 1000).offset).toBe(0);
    expect(windowFor(present, 0, 5, 5)).toBe(present);
  });

  it("grows with the screen, up to what the service allows", () => {
    expect(limitFor(30)).toBe(100);
    expect(limitFor(80)).toBe(200);
    expect(limitFor(1000)).toBe(500);
  });
});

describe("shiftOf", () => {
  const placed = (offset: number, ...keys: string[]) => ({ offset, keys });

  const rows = [
    {
      name: "follows rows that moved down",
      before: placed(10, "a", "b", "c"),
      after: placed(10, "x", "a", "b"),
      shift: 1,
    },
    {
      name: "follows rows that moved up",
      before: placed(10, "a", "b", "c"),
      after: placed(9, "b", "c", "d"),
      shift: -2,
    },
    {
      name: "does not follow a page that was scrolled",
      before: placed(10, "a", "b", "c"),
      after: placed(11, "b", "c", "d"),
      shift: 0,
    },
    {
      name: "does not follow a single row that has another place",
      before: placed(10, "a", "b", "c"),
      after: placed(10, "b", "a", "c"),
      shift: 0,
    },
    {
      name: "stays if no row is known",
      before: placed(10, "a", "b", "c"),
      after: placed(90, "x"),
      shift: 0,
    },
  ];
  it.each(rows)("$name", ({ before, after, shift }) => {
    expect(shiftOf(before, after, 10, 13)).toBe(shift);
  });
});

describe("ChangeTracker", () => {
  const columns = [nameColumn, pathColumn("status.phase")];

  function object(name: string, phase = "Running", uid = name): KubeObject {
    const value = { metadata: { name }, status: { phase } };
    return { key: `/${name}`, name, namespace: "", uid, value } as unknown as KubeObject;
  }

  const page = (items: readonly KubeObject[], offset = 0, total = items.length) => ({
    items,
    offset,
    total,
  });

  let now = 0;
  const newTracker = () => new ChangeTracker(columns, () => now);

  /** Returns what is marked after a change, as "key: columns". */
  function marked(tracker: ChangeTracker, next: Parameters<typeof tracker.marksOf>[0], at = 0) {
    now = at;
    const marks = [...tracker.marksOf(next)];
    return marks.map(([key, { columns: ids }]) => `${key}: ${ids ? [...ids].join() : "all"}`);
  }

  const [a, b, c] = [object("a"), object("b"), object("c")];

  it("marks nothing at first", () => {
    expect(marked(newTracker(), page([a, b]))).toEqual([]);
  });

  it("marks the cells that have changed, until the mark ends", () => {
    const tracker = newTracker();
    marked(tracker, page([a, b]));
    const changed = page([a, object("b", "Failed")]);
    expect(marked(tracker, changed)).toEqual(["/b: status.phase"]);
    expect(tracker.marksOf(changed)).toBe(tracker.marksOf(changed));
    expect(marked(tracker, page([a]), markDuration)).toEqual([]);
  });

  it("marks rows that are new, and rows that replace one with the same name", () => {
    const tracker = newTracker();
    marked(tracker, page([a, c]));
    expect(marked(tracker, page([a, b, c]))).toEqual(["/b: all"]);
    expect(marked(tracker, page([a, b, object("c", "Running", "other")]), 9999)).toEqual([
      "/c: all",
    ]);
  });

  it("does not mark rows that other rows have moved into the page", () => {
    const tracker = newTracker();
    marked(tracker, page([a, b], 10, 50));
    expect(marked(tracker, page([b, c], 10, 49))).toEqual([]);
  });

  it("does not mark rows of a page that was scrolled", () => {
    const tracker = newTracker();
    marked(tracker, page([a, c], 0, 50));
    expect(marked(tracker, page([b, c], 1, 50))).toEqual([]);
  });

  it("does not mark the rows of another page", () => {
    const tracker = newTracker();
    marked(tracker, { ...page([a, b]), page: "first" });
    expect(marked(tracker, { ...page([c, object("b", "Failed")]), page: "second" })).toEqual([]);
  });
});

describe("runBulk", () => {
  it("reports successes and failures by object", async () => {
    const report = vi.fn();
    const action = ({ name }: { name: string }) =>
      name === "b" ? Promise.reject(new Error("no")) : Promise.resolve();
    const rows = ["a", "b", "c"].map((name) => row(name));
    const { done, failures } = await runBulk(rows, action, report, new AbortController().signal);
    expect(done.map(({ name }) => name).sort()).toEqual(["a", "c"]);
    expect(failures).toEqual([{ row: row("b"), message: "Unknown: no" }]);
    expect(report).toHaveBeenCalledTimes(3);
  });

  it("begins nothing after it was stopped", async () => {
    const stopping = new AbortController();
    const action = vi.fn(() => {
      stopping.abort();
      return Promise.resolve();
    });
    const rows = Array.from({ length: 20 }, (_, index) => row(String(index)));
    await runBulk(rows, action, () => undefined, stopping.signal);
    expect(action).toHaveBeenCalledTimes(1);
  });
});

describe("labelsOf", () => {
  const rows = [
    { text: "team=web tier-", labels: { team: "web", tier: null } },
    { text: "example.com/team=a.b_c", labels: { "example.com/team": "a.b_c" } },
    { text: "empty=", labels: { empty: "" } },
    { text: "no value", labels: undefined },
    { text: "a=b=c", labels: undefined },
    { text: "", labels: undefined },
  ];
  it.each(rows)("reads $text", ({ text, labels }) => {
    expect(labelsOf(text)).toEqual(labels);
  });
});
