import { Code, ConnectError } from "@connectrpc/connect";
import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { FakeService, podValue, renderPage } from "./fixture.js";

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
  expect(screen.getByText(/The service is unreachable. Retrying/)).toBeTruthy();
  expect(screen.getByRole("row", { name: /web-1/ })).toBeTruthy();
  service.lose(undefined);
  await screen.findByText("Live");
});

test("a caller who may list nothing is told so", async () => {
  const service = new FakeService();
  service.denied = () => "no role";
  renderPage(service, "/");
  const sidebar = await screen.findByRole("navigation", { name: "Resources" });
  await within(sidebar).findByText(/You may not list anything in all namespaces/);
});
