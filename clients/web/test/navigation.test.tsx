// @vitest-environment happy-dom
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
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

test("a view that fails says why, and the rest of the page remains", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React reports it, too
  const service = new FakeService();
  const pod = podValue("web-1");
  service.set("pods", { ...pod, spec: { containers: [null] } });
  renderPage(service, "/o/pods/shop/web-1");
  await screen.findByText("This view cannot be shown");
  expect(screen.getByRole("alert").textContent).toMatch(/null/);
  expect(await sidebar()).toBeTruthy();
});

test("the sidebar counts the objects of open groups, and groups can be closed", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"), podValue("web-2"));
  renderPage(service, "/");
  await within(await sidebar()).findByRole("link", { name: /^Pods ?2$/ });
  await click("Workloads");
  expect(within(await sidebar()).queryByRole("link", { name: /^Pods/ })).toBeNull();
});

test("the sidebar of a small screen closes by Escape, and when another view is shown", async () => {
  renderPage(new FakeService(), "/r/pods");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  const button = screen.getByRole("button", { name: "Resources" });
  const isOpen = () => button.getAttribute("aria-expanded") === "true";
  fireEvent.click(button);
  expect(isOpen()).toBe(true);
  press("Escape");
  expect(isOpen()).toBe(false);
  expect(document.activeElement).toBe(button);
  fireEvent.click(button);
  fireEvent.click(within(await sidebar()).getByRole("link", { name: "Service" }));
  await waitFor(() => {
    expect(isOpen()).toBe(false);
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

test("the chosen namespace goes along to other views", async () => {
  const history = renderPage(new FakeService(), "/r/pods?ns=shop");
  fireEvent.click(await within(await sidebar()).findByRole("link", { name: "Overview" }));
  await waitFor(() => {
    expect(history.location.href).toBe("/?ns=shop");
  });
});

test("a namespace that is not listed can be typed", async () => {
  const service = new FakeService();
  service.denied = ({ resource }) => (resource === "namespaces" ? "no role" : undefined);
  const history = renderPage(service, "/r/pods");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  const choice = screen.getByLabelText<HTMLSelectElement>("Namespace");
  fireEvent.change(choice, { target: { value: "…" } });
  type(screen.getByLabelText("Name of the namespace"), " hidden ");
  const form = screen.getByRole("dialog", { name: "Show another namespace" }).querySelector("form");
  if (form) fireEvent.submit(form);
  await waitFor(() => {
    expect(history.location.href).toBe("/r/pods?ns=hidden");
  });
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(choice.value).toBe("hidden");
});

test("the path to an object leads back to its table", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  const history = renderPage(service, "/o/pods/shop/web-1");
  const crumbs = await screen.findByRole("navigation", { name: "Breadcrumbs" });
  fireEvent.click(await within(crumbs).findByRole("link", { name: "Pods" }));
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/pods");
  });
});

test("the user's menu changes the theme, and closes by Escape and by a click elsewhere", async () => {
  renderPage(new FakeService(), "/r/pods");
  const button = await screen.findByRole("button", { name: "User menu of ann" });
  fireEvent.click(button);
  fireEvent.click(screen.getByLabelText("Dark"));
  expect(document.documentElement.dataset.theme).toBe("dark");
  expect(screen.getByLabelText<HTMLInputElement>("Dark").checked).toBe(true);
  fireEvent.keyDown(screen.getByLabelText("Dark"), { key: "Escape" });
  expect(screen.queryByLabelText("Dark")).toBeNull();
  expect(document.activeElement).toBe(button);
  fireEvent.click(button);
  fireEvent.pointerDown(document.body);
  expect(screen.queryByLabelText("Dark")).toBeNull();
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

test("the palette opens by its button, moves by keys, and begins with what was chosen", async () => {
  const history = renderPage(new FakeService(), "/r/pods");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  await click(/^Go to…/);
  const found = () => within(screen.getByRole("listbox", { name: "Found" }));
  const labels = () =>
    found()
      .getAllByRole("option")
      .map(({ textContent }) => textContent);
  const chosen = () => found().getByRole("option", { selected: true }).textContent;
  const [first, second] = labels();
  press("ArrowDown");
  expect(chosen()).toBe(second);
  press("ArrowUp");
  expect(chosen()).toBe(first);
  await search("nodes", "Nodes");
  press("Enter");
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/nodes");
  });
  await click(/^Go to…/);
  expect(labels()[0]).toMatch(/^Nodes/);
  fireEvent.click(screen.getByRole("dialog", { name: "Go to" })); // outside of its content
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("the palette says which objects it cannot search", async () => {
  const service = new FakeService();
  service.refuse("pods", { reason: "Forbidden", code: 403, message: "ann cannot list pods" });
  renderPage(service, "/r/nodes");
  await within(await sidebar()).findByRole("link", { name: /^Pods/ });
  press("k", { ctrlKey: true });
  type(screen.getByRole("combobox", { name: /^Go to a type/ }), "pods web");
  await screen.findByText(/^Some objects cannot be searched: .*ann cannot list pods/);
});

test("the question mark shows the shortcuts, and g with a letter goes to a type", async () => {
  const history = renderPage(new FakeService(), "/r/pods");
  await sidebar();
  press("?");
  const help = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  const line = within(help).getByText("Go to deployments").parentElement;
  expect(line?.querySelector("kbd")?.textContent).toBe("g d");
  await click("Close");
  press("g");
  press("d");
  await waitFor(() => {
    expect(history.location.pathname).toBe("/r/deployments.apps");
  });
});
