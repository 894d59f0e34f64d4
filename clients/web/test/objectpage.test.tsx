import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { deploymentValue, FakeService, podValue, press, renderPage, search } from "./fixture.js";

/** Shows the page of a pod. */
function renderPod(search = "") {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  return { service, history: renderPage(service, `/o/pods/shop/web-1${search}`) };
}

test("the page of an object says how it is", async () => {
  renderPod();
  const heading = await screen.findByRole("heading", { level: 1, name: /web-1/ });
  expect(heading).toBeTruthy();
  expect(screen.getByRole("tab", { name: "Summary" }).getAttribute("aria-selected")).toBe("true");
});

test("a deleted object remains, with its last state, and returns when it is created again", async () => {
  const { service } = renderPod();
  await screen.findByRole("heading", { name: /web-1/ });
  service.set("pods");
  await screen.findByText(/^Deleted at/);
  expect(screen.getByRole("heading", { name: /web-1/ })).toBeTruthy();
  service.set("pods", podValue("web-1"));
  await waitFor(() => {
    expect(screen.queryByText(/^Deleted at/)).toBeNull();
  });
});

test("an object that does not exist appears when it is created", async () => {
  const service = new FakeService();
  renderPage(service, "/o/pods/shop/web-1");
  await screen.findByText("pods web-1 does not exist in shop");
  service.set("pods", podValue("web-1"));
  await screen.findByRole("tab", { name: "Summary" });
});

test("an object that may not be read says which role is missing", async () => {
  const service = new FakeService();
  service.refuse("pods", { reason: "Forbidden", code: 403, message: "ann cannot get pods" });
  renderPage(service, "/o/pods/shop/web-1");
  await screen.findByText("You are not allowed to read pods web-1");
  expect(screen.getByText("ann cannot get pods")).toBeTruthy();
});

test("the tabs are used by keys, and have addresses", async () => {
  const { history } = renderPod();
  const summary = await screen.findByRole("tab", { name: "Summary" });
  summary.focus();
  press("ArrowLeft");
  const last = screen.getByRole("tab", { name: "History" });
  await waitFor(() => {
    expect(last.getAttribute("aria-selected")).toBe("true");
  });
  expect(document.activeElement).toBe(last);
  expect(history.location.search).toBe("?tab=history");
  const panel = screen.getByRole("tabpanel", { name: "History" });
  expect(panel.id).toBe(last.getAttribute("aria-controls"));
});

test("objects without pods have no tab for logs", async () => {
  const service = new FakeService();
  service.set("configmaps", { metadata: { name: "settings", namespace: "shop" }, data: {} });
  renderPage(service, "/o/configmaps/shop/settings");
  await screen.findByRole("tab", { name: "YAML" });
  expect(screen.queryByRole("tab", { name: "Logs" })).toBeNull();
});

test("without events the tab says so, and for how long they are kept", async () => {
  renderPod("?tab=events");
  await screen.findByText("There are no events.");
  expect(screen.getByText(/keeps events for an hour/)).toBeTruthy();
});

test("the events of a reason stand together, warnings named", async () => {
  const { service } = renderPod("?tab=events");
  const event = (name: string, count: number) => ({
    metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
    type: "Warning",
    reason: "BackOff",
    message: "restarting failed container",
    count,
    involvedObject: { kind: "Pod", name: "web-1", namespace: "shop" },
    lastTimestamp: "2026-01-01T00:00:00Z",
  });
  service.set("events", event("a", 2), event("b", 3));
  const group = (await screen.findByRole("heading", { name: "BackOff" })).closest("article");
  if (!group) throw new Error("the heading has no group");
  expect(within(group).getByText("Warning")).toBeTruthy();
  expect(within(group).getByText("5 times")).toBeTruthy();
});

test("the palette performs an action on the object that is shown", async () => {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"));
  renderPage(service, "/o/deployments.apps/shop/web");
  await screen.findByRole("tab", { name: "Summary" });
  fireEvent.click(await search("scale web", "Scale web…"));
  await screen.findByRole("dialog", { name: "Scale web" });
});
