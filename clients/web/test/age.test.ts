import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { age } from "../src/age.js";

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

suite("the age of an object", () => {
  for (const [seconds, expected] of [
    [-5, "0s"],
    [0, "0s"],
    [119, "119s"],
    [2 * minute, "2m"],
    [3 * minute + 20, "3m20s"],
    [10 * minute + 20, "10m"],
    [2 * hour + 59 * minute, "179m"],
    [3 * hour, "3h"],
    [3 * hour + 5 * minute, "3h5m"],
    [8 * hour + 5 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day + 3 * hour, "2d3h"],
    [8 * day + 3 * hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [735 * day, "2y5d"],
    [9 * 365 * day, "9y"],
  ] as const) {
    test(`${seconds} seconds ago is ${expected}`, () => {
      assert.equal(age(0, seconds * 1000), expected);
    });
  }
});
