import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { click, FakeService, podValue, press, renderPage, type } from "./fixture.js";

/** Shows the table of two pods. */
function renderPods(address = "/r/pods") {
  const service = new FakeService();
  service.set("pods", podValue("web-1"), podValue("web-2", { phase: "Pending" }));
  return { service, history: renderPage(service, address) };
}

const row = (name: string) => screen.findByRole("row", { name: new RegExp(name) });

test("a table has a row for each object, with what its cells say", async () => {
  renderPods();
  expect(await screen.findByRole("grid", { name: "pods" })).toBeTruthy();
  expect(within(await row("web-1")).getByText("Running")).toBeTruthy();
  expect(within(await row("web-2")).getByText("Pending")).toBeTruthy();
  expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("Pods 2");
});

test("a table shows objects that come and go", async () => {
  const { service } = renderPods();
  await row("web-2");
  service.set("pods", podValue("web-1"), podValue("web-3"));
  await row("web-3");
  expect(screen.queryByRole("row", { name: /web-2/ })).toBeNull();
});

test("a click on a column sorts by it, and another click reverses the order", async () => {
  const { service, history } = renderPods();
  const header = await screen.findByRole("columnheader", { name: "Name" });
  expect(header.getAttribute("aria-sort")).toBe("none");
  fireEvent.click(within(header).getByRole("button"));
  await waitFor(() => {
    expect(service.watched.at(-1)?.orderBy).toBe("metadata.name");
  });
  expect(header.getAttribute("aria-sort")).toBe("ascending");
  fireEvent.click(within(header).getByRole("button"));
  await waitFor(() => {
    expect(header.getAttribute("aria-sort")).toBe("descending");
  });
  expect(history.location.search).toContain("sort=metadata.name");
});

test("the search by name is asked of the service, and kept in the address", async () => {
  const { service, history } = renderPods();
  type(await screen.findByRole("searchbox", { name: "Search by name" }), "web");
  await waitFor(() => {
    expect(service.watched.at(-1)?.filter).toContain('"web"');
  });
  expect(history.location.search).toBe("?q=web");
});

test("an input shows the selector of another address", async () => {
  const { history } = renderPods("/r/pods?labels=app%3Dweb");
  const input = await screen.findByRole<HTMLInputElement>("searchbox", { name: "Label selector" });
  expect(input.value).toBe("app=web");
  history.push("/r/pods?labels=app%3Ddb");
  await waitFor(() => {
    expect(input.value).toBe("app=db");
  });
});

test("a chip selects the objects in a state", async () => {
  const { service, history } = renderPods();
  const chip = await screen.findByRole("button", { name: /^Pending 1$/ });
  expect(chip.getAttribute("aria-pressed")).toBe("false");
  fireEvent.click(chip);
  await waitFor(() => {
    expect(chip.getAttribute("aria-pressed")).toBe("true");
  });
  expect(history.location.search).toContain("quick=Pending");
  expect(service.watched.some(({ filter }) => filter.includes("Pending"))).toBe(true);
});

test("the filter completes fields by the schema", async () => {
  renderPods();
  const input = await screen.findByRole("combobox", { name: "Filter in CEL" });
  fireEvent.focus(input);
  await vi.waitFor(
    () => {
      type(input, "");
      type(input, "object.spec.no"); // completed as soon as the schema has arrived
      const list = screen.getByRole("listbox", { name: "Completions" });
      expect(within(list).getByRole("option").textContent).toContain("nodeName");
    },
    { timeout: 10_000 },
  );
  fireEvent.keyDown(input, { key: "Tab" });
  expect((input as HTMLInputElement).value).toBe("object.spec.nodeName");
  expect(input.getAttribute("aria-expanded")).toBe("false");
});

test("a filter that the service rejects leaves a way out", async () => {
  const { service, history } = renderPods("/r/pods?filter=object.");
  const message = "filter: Syntax error";
  service.refuse("pods", { reason: "BadRequest", code: 400, message });
  await screen.findByText(/The filter is not valid/);
  service.refuse("pods", undefined);
  await click("Clear the filter");
  await row("web-1");
  expect(history.location.search).toBe("");
});

test("an empty table says what is selected by, and clears it", async () => {
  const service = new FakeService();
  const history = renderPage(service, "/r/pods?labels=app%3Dnone&ns=shop");
  const empty = await screen.findByText("No pods in the namespace shop match:");
  expect(empty.parentElement?.textContent).toContain("Labels: app=none");
  await click("Clear the filters");
  await screen.findByText("There are no pods in the namespace shop.");
  expect(history.location.search).toBe("?ns=shop");
});

test("a refusal says what is not allowed, until it is", async () => {
  const service = new FakeService();
  const message = "pods is forbidden: ann cannot list";
  service.refuse("pods", { reason: "Forbidden", code: 403, message });
  service.set("pods", podValue("web-1"));
  renderPage(service, "/r/pods");
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("You may not list pods here");
  expect(alert.textContent).toContain("ann cannot list");
  service.refuse("pods", undefined);
  await click("Try again");
  await row("web-1");
  expect(screen.queryByRole("alert")).toBeNull();
});

test("keys move the active row, select it and open its object", async () => {
  const { history } = renderPods();
  const grid = await screen.findByRole("grid");
  await row("web-2");
  press("j");
  expect(document.activeElement).toBe(grid);
  press("ArrowDown");
  const second = await row("web-2");
  expect(grid.getAttribute("aria-activedescendant")).toBe(second.id);
  press(" ");
  expect(second.getAttribute("aria-selected")).toBe("true");
  expect(screen.getByText("1 selected")).toBeTruthy();
  press("Escape");
  expect(screen.queryByText("1 selected")).toBeNull();
  press("Enter");
  await waitFor(() => {
    expect(history.location.pathname).toBe("/o/pods/shop/web-2");
  });
});

test("a slash leads to the search, and Escape back to the table", async () => {
  renderPods();
  const grid = await screen.findByRole("grid");
  press("/");
  expect(document.activeElement).toBe(screen.getByRole("searchbox", { name: "Search by name" }));
  press("Escape");
  expect(document.activeElement).toBe(grid);
});

test("all objects are deleted that were selected and confirmed", async () => {
  const { service } = renderPods();
  await row("web-2");
  fireEvent.click(screen.getByRole("checkbox", { name: "Select all" }));
  const bar = screen.getByRole("group", { name: "Selected objects" });
  const remove = within(bar).getByRole("button", { name: "Delete…" });
  await waitFor(() => {
    expect(remove.getAttribute("aria-disabled")).toBe("false");
  });
  fireEvent.click(remove);
  const dialog = await screen.findByRole("dialog", { name: "Delete 2 pods" });
  expect(within(dialog).getByText("shop/web-2")).toBeTruthy();
  expect(service.deleted).toEqual([]);
  await click("Delete 2 pods");
  await within(dialog).findByText("2 of 2 done");
  expect(service.deleted.map(({ name }) => name).sort()).toEqual(["web-1", "web-2"]);
});

test("an action on selected objects that is not allowed says why", async () => {
  const { service } = renderPods();
  service.denied = ({ verb }) => (verb === "delete" ? "no role" : undefined);
  fireEvent.click(within(await row("web-1")).getByRole("checkbox", { name: "Select web-1" }));
  await screen.findByText("You are not allowed to delete pods in shop: no role");
  await click("Delete…");
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("a column can be hidden", async () => {
  renderPods();
  await screen.findByRole("columnheader", { name: "Node" });
  await click(/^Columns/);
  fireEvent.click(await screen.findByRole("checkbox", { name: "Node" }));
  await waitFor(() => {
    expect(screen.queryByRole("columnheader", { name: "Node" })).toBeNull();
  });
  press("Escape");
  expect(screen.queryByRole("group", { name: "Columns" })).toBeNull();
});
