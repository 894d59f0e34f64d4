// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { click, FakeService, podValue, renderPage } from "./fixture.js";

test("the page says that it is live", async () => {
  renderPage(new FakeService(), "/r/pods");
  const live = await within(await screen.findByRole("banner")).findByText("Live");
  expect(live.getAttribute("role")).toBe("status");
});

test("a lost connection is named, with what happens next, and the rows remain", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  renderPage(service, "/r/pods");
  await screen.findByRole("row", { name: /web-1/ });
  service.lose(new ConnectError("down", Code.Unavailable));
  await screen.findByText(/^Disconnected since/);
  await screen.findByText(/^The service is unreachable. Retrying in \d+ s\.$/);
  expect(screen.getByRole("row", { name: /web-1/ })).toBeTruthy();
  service.lose(undefined);
  await screen.findByText("Live");
});

test("a page that opens while the service is unreachable waits for it", async () => {
  const service = new FakeService();
  service.unready = new ConnectError("down", Code.Unavailable);
  renderPage(service, "/r/pods");
  await waitFor(() => {
    expect(service.identified).toBeGreaterThan(0);
  });
  service.unready = undefined;
  await screen.findByText("Live");
});

test("types that cannot be read, and those that are missing, are named, and read again", async () => {
  const service = new FakeService();
  service.missing = [{ group: "metrics.k8s.io", version: "v1", message: "no endpoints" }];
  service.set("namespaces", { metadata: { name: "shop" } });
  renderPage(service, "/r/pods");
  const missing = /^The types of metrics.k8s.io\/v1 are missing/;
  await screen.findByText(missing);
  service.unready = new ConnectError("down", Code.Internal);
  await screen.findByRole("option", { name: "shop" });
  fireEvent.change(screen.getByLabelText("Namespace"), { target: { value: "shop" } });
  await screen.findByText("The types may be outdated: down");
  service.unready = undefined;
  await click("Try again");
  await screen.findByText(missing);
});

test("types that could not be read are read again without a click", async () => {
  const service = new FakeService();
  service.set("namespaces", { metadata: { name: "shop" } });
  renderPage(service, "/r/pods");
  await screen.findByRole("option", { name: "shop" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  try {
    service.unready = new ConnectError("down", Code.Internal);
    fireEvent.change(screen.getByLabelText("Namespace"), { target: { value: "shop" } });
    await screen.findByText("The types may be outdated: down");
    service.unready = undefined;
    await vi.advanceTimersByTimeAsync(5_000);
    await waitFor(() => {
      expect(screen.queryByText("The types may be outdated: down")).toBeNull();
    });
  } finally {
    vi.useRealTimers();
  }
});

test("a caller who may list nothing sees that", async () => {
  const service = new FakeService();
  service.denied = () => "no role";
  renderPage(service, "/");
  const sidebar = await screen.findByRole("navigation", { name: "Resources" });
  await within(sidebar).findByText(/You may not list anything in all namespaces/);
});
