// @vitest-environment happy-dom
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { click, deploymentValue, FakeService, podValue, renderPage } from "./fixture.js";

/** Shows a tab of the page of a pod. */
function renderPod(tab: string) {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  return { service, history: renderPage(service, `/o/pods/shop/web-1?tab=${tab}`) };
}

/** Returns an event about a pod. */
const event = (name: string, count = 1) => ({
  metadata: { name, namespace: "shop", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
  type: "Warning",
  reason: "BackOff",
  message: "restarting failed container",
  count,
  involvedObject: { kind: "Pod", name: "web-1", namespace: "shop" },
  lastTimestamp: "2026-01-01T00:00:00Z",
});

const forbidden = { reason: "Forbidden", code: 403, message: "ann cannot list" };

test("without events the tab says so, and for how long they are kept", async () => {
  renderPod("events");
  await screen.findByText("There are no events.");
  expect(screen.getByText(/keeps events for an hour/)).toBeTruthy();
});

test("the events of a reason stand together, warnings named", async () => {
  const { service } = renderPod("events");
  service.set("events", event("a", 2), event("b", 3));
  const group = (await screen.findByRole("heading", { name: "BackOff" })).closest("article");
  if (!group) throw new Error("the heading has no group");
  expect(within(group).getByText("Warning")).toBeTruthy();
  expect(within(group).getByText("5 times")).toBeTruthy();
});

test("of many events of a reason the first are shown, and the others on demand", async () => {
  const { service } = renderPod("events");
  service.set("events", ...["a", "b", "c", "d", "e"].map((name) => event(name)));
  await click("Show 2 more");
  expect(screen.getAllByText("restarting failed container")).toHaveLength(5);
  await click("Show fewer");
  expect(screen.getAllByText("restarting failed container")).toHaveLength(3);
});

test("events that may not be read are named", async () => {
  const { service } = renderPod("events");
  service.refuse("events", forbidden);
  const notice = await screen.findByText("You may not read these events");
  expect(notice.parentElement?.textContent).toContain("ann cannot list");
});

test("the events of a workload's pods can be left out", async () => {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"));
  service.set("pods", podValue("web-1"));
  renderPage(service, "/o/deployments.apps/shop/web?tab=events");
  const box = await screen.findByLabelText<HTMLInputElement>("Also of its pods");
  await waitFor(() => {
    expect(service.watched.filter(({ resource }) => resource === "events")).not.toEqual([]);
  });
  fireEvent.click(box);
  expect(box.checked).toBe(false);
});

test("the history shows changes as they happen, and sources can be hidden", async () => {
  const { service } = renderPod("history");
  const moments = await screen.findByRole("list", { name: /^What has happened/ });
  await within(moments).findByText(/^Created/);
  const pod = podValue("web-1");
  service.set("pods", { ...pod, spec: { nodeName: "node-2" } });
  await within(moments).findByText("Live");
  expect(within(moments).getByText("spec.nodeName").closest("div")?.textContent).toBe(
    "spec.nodeNamenode-1node-2",
  );
  fireEvent.click(screen.getByLabelText(/^Seen live/));
  expect(within(moments).queryByText("Live")).toBeNull();
  expect(within(moments).getByText(/^Created/)).toBeTruthy();
});

test("a history of which a part cannot be read says so", async () => {
  const { service } = renderPod("history");
  service.refuse("events", forbidden);
  const notice = await screen.findByText("A part of the history cannot be read");
  expect(notice.parentElement?.textContent).toContain("ann cannot list");
});

/** Shows what a replica set is related to: its pods. */
function renderRelations(change: (service: FakeService) => void = () => undefined) {
  const service = new FakeService();
  service.set("replicasets.apps", deploymentValue("web"));
  service.set("pods", podValue("web-1", { phase: "Pending" }));
  change(service);
  renderPage(service, "/o/replicasets.apps/shop/web?tab=relations");
}

test("related objects are links with their states, in a graph and in lists", async () => {
  renderRelations();
  const graph = await screen.findByRole("list", { name: "Related objects" });
  const pod = await within(graph).findByRole("link", { name: /^Pod ?web-1/ });
  expect(pod.getAttribute("href")).toBe("/o/pods/shop/web-1?tab=relations");
  expect(pod.textContent).toContain("Pending");
  await click("Show as lists");
  const owned = screen.getByRole("region", { name: "Owns" });
  expect(within(owned).getByRole("link", { name: /^Pod ?web-1/ })).toBeTruthy();
});

test("the graph is zoomed, and fitted again", async () => {
  renderRelations();
  const graph = await screen.findByRole("list", { name: "Related objects" });
  await within(graph).findByRole("link", { name: /^Pod/ });
  const scale = () => /scale\((.+)\)/.exec(graph.parentElement?.style.transform ?? "")?.[1];
  const fitted = scale();
  await click("Zoom in");
  expect(Number(scale()) / Number(fitted)).toBeCloseTo(1.25);
  await click("Fit");
  expect(scale()).toBe(fitted);
  await click("Zoom in");
  await click("Zoom in");
  await click("Zoom out");
  expect(Number(scale()) / Number(fitted)).toBeCloseTo(1.25);
});

test("related kinds that cannot be read are named", async () => {
  renderRelations((service) => {
    service.refuse("pods", forbidden);
  });
  await screen.findByText(/^These kinds cannot be read: .*Pod/);
});
