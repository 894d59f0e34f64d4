import { expect, test } from "vitest";
import { fuzzyMatch, fuzzyRank } from "../src/model/fuzzy.js";

test("a text matches if it has the characters in their order", () => {
  expect(fuzzyMatch("dpl", "Deployments")?.positions).toEqual([0, 2, 3]);
  expect(fuzzyMatch("WEB", "shop-web")?.positions).toEqual([5, 6, 7]);
  expect(fuzzyMatch("lpd", "Deployments")).toBeUndefined();
  expect(fuzzyMatch("webs", "web")).toBeUndefined();
});

test("an empty query matches everything", () => {
  expect(fuzzyMatch(" ", "pods")).toEqual({ score: 0, positions: [] });
});

test("the best place of several is found", () => {
  expect(fuzzyMatch("set", "nested-set")?.positions).toEqual([7, 8, 9]);
});

test("characters in one piece, and begins of words, rank first", () => {
  const rank = (query: string, ...texts: string[]) => fuzzyRank(query, texts, (text) => [text]);
  expect(rank("sec", "StorageClasses", "secrets")).toEqual(["secrets", "StorageClasses"]);
  expect(rank("np", "Snapshots", "NetworkPolicies")[0]).toBe("NetworkPolicies");
  expect(rank("pod", "PodDisruptionBudgets", "pods")[0]).toBe("pods");
  expect(rank("x", "pods")).toEqual([]);
});

test("an item ranks by the best of its texts", () => {
  const items = [{ names: ["services", "svc"] }, { names: ["secrets"] }];
  expect(fuzzyRank("svc", items, ({ names }) => names)).toEqual([items[0]]);
});
