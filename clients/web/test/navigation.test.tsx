import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { click, FakeService, podValue, press, renderPage, search, type } from "./fixture.js";

const sidebar = () => screen.findByRole("navigation", { name: "Resources" });

test("an address without a view says so, and leads home", async () => {
  const history = renderPage(new FakeService(), "/nowhere");
  await screen.findByText("There is no such page");
  fireEvent.click(screen.getByRole("link", { name: "Go to the overview" }));
  await waitFor(() => {
    expect(history.location.pathname).toBe("/");
  });
});

test("the sidebar finds a type by a few letters, and Enter opens it", async () => {
  const history = renderPage(new FakeService(), "/r/pods");
  const field = within(await sidebar()).getByRole("searchbox");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  type(field, "depl");
  await within(await sidebar()).findByRole("link", { name: "Deployments" });
  expect(within(await sidebar()).queryByRole("link", { name: /^Pods/ })).toBeNull();
  field.focus();
  press("Enter");
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/deployments.apps");
  });
});

test("a pinned type remains at the top", async () => {
  renderPage(new FakeService(), "/r/pods");
  const pin = await screen.findByRole("button", { name: "Pin Pods" });
  expect(pin.getAttribute("aria-pressed")).toBe("false");
  fireEvent.click(pin);
  const list = await screen.findByRole("list", { name: "Pinned" });
  expect(within(list).getByRole("button", { name: "Pin Pods", pressed: true })).toBeTruthy();
});

test("the arrow keys move between the types", async () => {
  renderPage(new FakeService(), "/r/pods");
  const link = await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  link.focus();
  press("ArrowDown");
  expect(document.activeElement?.textContent).toMatch(/^Deployments/);
  press("ArrowUp");
  expect(document.activeElement).toBe(link);
});

test("another namespace is shown in the same view", async () => {
  const service = new FakeService();
  service.set("namespaces", { metadata: { name: "shop" } }, { metadata: { name: "other" } });
  service.set("pods", podValue("web-1"));
  const history = renderPage(service, "/r/pods");
  await screen.findByRole("option", { name: "other" });
  fireEvent.change(screen.getByLabelText("Namespace"), { target: { value: "other" } });
  await screen.findByText("There are no pods in the namespace other.");
  expect(history.location.href).toBe("/r/pods?ns=other");
});

test("the palette goes to a type by keys, and closes", async () => {
  const history = renderPage(new FakeService(), "/r/pods");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  const option = await search("nodes", "Nodes");
  const field = screen.getByRole("combobox", { name: /^Go to a type/ });
  expect(option.getAttribute("aria-selected")).toBe("true");
  expect(field.getAttribute("aria-activedescendant")).toBe(option.id);
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/nodes");
  });
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("the palette finds objects, and says when there are none", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  renderPage(service, "/r/nodes");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  await search("pods web", "web-1");
  expect(service.listed.map(({ resource }) => resource)).toEqual(["pods"]);
  service.set("pods");
  const field = screen.getByRole("combobox", { name: /^Go to a type/ });
  type(field, "qqqq");
  await screen.findByText("Nothing has this name.");
});

test("the question mark shows the shortcuts, and g with a letter goes to a type", async () => {
  const history = renderPage(new FakeService(), "/r/pods");
  await sidebar();
  press("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  expect(within(help).getByText("Go to deployments")).toBeTruthy();
  await click("Close");
  press("g");
  press("d");
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/deployments.apps");
  });
});
