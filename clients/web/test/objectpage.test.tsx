// @vitest-environment happy-dom
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
  const header = heading.closest("header");
  expect(header?.querySelector("[aria-live]")?.textContent).toBe("Running");
  expect(screen.getByRole("tab", { name: "Summary" }).getAttribute("aria-selected")).toBe("true");
});

test("a deleted object remains, with its last state, and returns when it is created again", async () => {
  const { service } = renderPod();
  await screen.findByRole("heading", { name: /web-1/ });
  service.set("pods");
  await screen.findByText(/^Deleted at/);
  expect(screen.getByRole("heading", { name: /web-1/ })).toBeTruthy();
  expect(screen.queryByRole("button", { name: /^Actions/ })).toBeNull();
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

test("the page says when it may be outdated, and when it is not live any more", async () => {
  const { service } = renderPod();
  await screen.findByRole("heading", { name: /web-1/ });
  service.becomeStale();
  await screen.findByText("This may be outdated");
  service.refuse("pods", { reason: "Forbidden", code: 403, message: "ann cannot get pods" });
  const alert = await screen.findByText("The page is not live any more");
  expect(alert.parentElement?.textContent).toContain("ann cannot get pods");
  expect(screen.getByRole("heading", { name: /web-1/ })).toBeTruthy();
});

test("an address with a short name becomes the one that all links have", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  const history = renderPage(service, "/o/po/shop/web-1?tab=events");
  await waitFor(() => {
    expect(history.location.href).toBe("/o/pods/shop/web-1?tab=events");
  });
});

test("the summary says what is wrong, of which parts the object is, and what it belongs to", async () => {
  const service = new FakeService();
  const { metadata } = podValue("web-1");
  const container = { name: "main", image: "web", env: [{ name: "KEY", value: "hunter2" }] };
  service.set("pods", {
    metadata: {
      ...metadata,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web" }],
    },
    spec: { nodeName: "node-1", containers: [container] },
    status: {
      phase: "Failed",
      reason: "Evicted",
      message: "The node was low on memory",
      containerStatuses: [{ name: "main", restartCount: 3, state: { running: {} }, ready: true }],
      conditions: [{ type: "Ready", status: "False", reason: "PodFailed" }],
    },
  });
  service.set("events", {
    metadata: { name: "a", namespace: "shop", uid: "a" },
    reason: "Evicted",
    message: "The node had too little memory",
  });
  renderPage(service, "/o/pods/shop/web-1");
  const findings = await screen.findByRole("region", { name: "What to know" });
  expect(findings.textContent).toContain("Problem: The node evicted the pod");
  expect(screen.getByRole("link", { name: "node-1" }).getAttribute("href")).toBe(
    "/o/nodes/-/node-1",
  );
  const containers = screen.getByRole("region", { name: "Containers" });
  expect(within(containers).getByText("3 restarts")).toBeTruthy();
  expect(within(containers).getByText("KEY")).toBeTruthy();
  expect(containers.textContent).not.toContain("hunter2");
  expect(screen.getByRole("row", { name: /^Ready ?False ?PodFailed/ })).toBeTruthy();
  const warnings = await screen.findByRole("region", { name: "Latest warnings" });
  expect(warnings.textContent).toContain("The node had too little memory");
  const owner = within(screen.getByRole("region", { name: "Metadata" })).getByRole("link");
  expect(owner.textContent).toBe("web");
  expect(owner.getAttribute("href")).toBe("/o/replicaset.apps/shop/web");
});

test("the values of a secret are in no annotation that is shown", async () => {
  const service = new FakeService();
  const annotations = {
    team: "web",
    "kubectl.kubernetes.io/last-applied-configuration": "aHVudGVy",
  };
  service.set("secrets", { metadata: { name: "key", namespace: "shop", annotations }, data: {} });
  renderPage(service, "/o/secrets/shop/key");
  const metadata = await screen.findByRole("region", { name: "Metadata" });
  expect(within(metadata).getByText("1 annotation")).toBeTruthy();
  expect(metadata.textContent).not.toContain("aHVudGVy");
});

test("the chosen namespace goes along to other tabs", async () => {
  const { history } = renderPod("?ns=shop");
  fireEvent.click(await screen.findByRole("tab", { name: "YAML" }));
  await waitFor(() => {
    expect(history.location.search).toBe("?ns=shop&tab=yaml");
  });
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

test("the palette performs an action on the object that is shown", async () => {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"));
  renderPage(service, "/o/deployments.apps/shop/web");
  await screen.findByRole("tab", { name: "Summary" });
  fireEvent.click(await search("scale web", "Scale web…"));
  await screen.findByRole("dialog", { name: "Scale web" });
});
