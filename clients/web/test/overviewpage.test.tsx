// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { deploymentValue, FakeService, podValue, renderPage } from "./fixture.js";

/** A service with a deployment of which no pod is ready, a pod that was evicted, and a bad node. */
function troubledService(): FakeService {
  const service = new FakeService();
  service.set("deployments.apps", {
    ...deploymentValue("web"),
    status: { readyReplicas: 0 },
  });
  const pod = podValue("web-1", { phase: "Failed" });
  service.set("pods", { ...pod, status: { phase: "Failed", reason: "Evicted" } });
  service.set("nodes", { metadata: { name: "node-1" }, spec: { unschedulable: true } });
  return service;
}

test("the overview names what is not well, and leads there", async () => {
  renderPage(troubledService(), "/");
  await screen.findByText("1 workload is not ready, 1 pod is failing, 1 node has a problem.");
  const workloads = screen.getByRole("region", { name: "Workloads that are not ready" });
  expect(workloads.textContent).toContain("0 of 2 ready");
  expect(within(workloads).getByRole("link").getAttribute("href")).toBe(
    "/o/deployments.apps/shop/web",
  );
  const reasons = screen.getByRole("list", { name: "Pods that fail, by reason" });
  const reason = within(reasons).getByRole("link", { name: "Evicted" });
  expect(reason.getAttribute("href")).toMatch(/^\/r\/pods\?filter=.*Evicted/);
  expect(screen.getByRole("list", { name: "Nodes with problems" }).textContent).toBe(
    "node-1cordoned",
  );
});

test("what the overview says is of the past while the service is unreachable", async () => {
  const service = troubledService();
  renderPage(service, "/");
  await screen.findByText(/has a problem\.$/);
  service.lose(new ConnectError("down", Code.Unavailable));
  await screen.findByText(/has a problem \(as last seen\)\.$/);
});

test("a card whose objects may not be read says so", async () => {
  const service = troubledService();
  service.refuse("nodes", { reason: "Forbidden", code: 403, message: "ann cannot list" });
  renderPage(service, "/");
  const nodes = await screen.findByRole("region", { name: "Nodes" });
  await within(nodes).findByText("You may not read this.");
});

test("the state of the service says who the user is, and which caches run", async () => {
  const service = troubledService();
  renderPage(service, "/service");
  const caches = await screen.findByRole("region", { name: "Table of the caches" });
  expect(within(caches).getByRole("row", { name: /^Pods.*Current/ })).toBeTruthy();
  const caller = screen.getByRole("region", { name: "You, as the cluster knows you" });
  expect(caller.textContent).toContain("system:authenticated");
});

test("caches that cannot be read are an error", async () => {
  const service = troubledService();
  renderPage(service, "/");
  const sidebar = await screen.findByRole("navigation", { name: "Resources" });
  await within(sidebar).findByRole("link", { name: /^Pods/ });
  service.unready = new ConnectError("down", Code.Internal);
  within(sidebar).getByRole("link", { name: "Service" }).click();
  expect((await screen.findByRole("alert")).textContent).toContain("The caches cannot be read");
});
