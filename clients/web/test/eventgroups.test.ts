import { expect, test } from "vitest";
import { aboutFilter, eventRow, groupEvents } from "../src/events/group.js";

function event(reason: string, type: string, last: string, count?: number) {
  return eventRow({ uid: last, value: { reason, type, lastTimestamp: last, count } });
}

test("events are grouped by reason, warnings first, then the newest", () => {
  const groups = groupEvents([
    event("Pulled", "Normal", "2026-01-01T00:00:09Z"),
    event("BackOff", "Warning", "2026-01-01T00:00:01Z", 4),
    event("BackOff", "Warning", "2026-01-01T00:00:02Z", 2),
    event("Failed", "Warning", "2026-01-01T00:00:03Z"),
    event("BackOff", "Normal", "2026-01-01T00:00:04Z"),
  ]);
  expect(groups.map(({ reason, isWarning, count }) => [reason, isWarning, count])).toEqual([
    ["Failed", true, 1],
    ["BackOff", true, 6],
    ["Pulled", false, 1],
    ["BackOff", false, 1],
  ]);
  expect(groups[1]?.events[0]?.last).toBe("2026-01-01T00:00:02Z");
});

test("an event of the newer API has its series and its time", () => {
  const row = eventRow({
    uid: "u",
    value: {
      eventTime: "2026-01-01T00:00:00Z",
      lastTimestamp: null,
      series: { count: 7, lastObservedTime: "2026-01-01T00:01:00Z" },
      reportingComponent: "scheduler",
      involvedObject: { kind: "Pod", name: "p" },
    },
  });
  expect(row).toMatchObject({ count: 7, last: "2026-01-01T00:01:00Z", from: "scheduler" });
  expect(row.first).toBe("2026-01-01T00:00:00Z");
});

test("a filter has no more than the characters of UIDs", () => {
  expect(aboutFilter(["a-1", "b' || true"])).toBe("object.involvedObject.uid in ['a-1', 'btrue']");
});
