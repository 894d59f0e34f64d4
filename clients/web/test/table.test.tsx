// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Notices } from "../src/table/notices.js";
import {
  click,
  deploymentValue,
  FakeService,
  podValue,
  press,
  renderPage,
  type,
} from "./fixture.js";

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
  fireEvent.click(chip);
  await waitFor(() => {
    expect(history.location.search).toBe("");
  });
});

test("the filter completes fields by the schema, and is applied by Enter", async () => {
  const { history } = renderPods();
  const input = await screen.findByRole("combobox", { name: "Filter in CEL" });
  input.focus();
  await vi.waitFor(
    () => {
      type(input, "");
      type(input, "object.spec.no"); // completed as soon as the schema has arrived
      const list = screen.getByRole("listbox", { name: "Completions" });
      expect(within(list).getByRole("option").textContent).toContain("nodeName");
    },
    { timeout: 10_000 },
  );
  type(input, "object.spec.");
  const chosen = () => screen.getByRole("option", { selected: true, name: /^(hostname|nodeName)/ });
  expect(chosen().textContent).toContain("hostname");
  press("ArrowDown");
  expect(chosen().textContent).toContain("nodeName");
  press("Tab");
  expect((input as HTMLInputElement).value).toBe("object.spec.nodeName");
  expect(input.getAttribute("aria-expanded")).toBe("false");
  type(input, "object.spec.nodeName == 'a'");
  press("Enter");
  await waitFor(() => {
    expect(history.location.search).toContain("nodeName");
  });
});

test("a filter that the service rejects leaves a way out", async () => {
  const { service, history } = renderPods("/r/pods?filter=object.");
  const message = "filter: ERROR: <input>:1:8: Syntax error";
  service.refuse("pods", { reason: "BadRequest", code: 400, message });
  await screen.findByText(/The filter is not valid/);
  const error = await screen.findByText(/^At character 8: Syntax error/);
  expect(error.parentElement?.querySelector("mark")).not.toBeNull();
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

test("an action that fails for some objects says for which, and why", async () => {
  const { service } = renderPods();
  service.failure = new ConnectError("exceeded quota", Code.PermissionDenied);
  await row("web-2");
  fireEvent.click(screen.getByRole("checkbox", { name: "Select all" }));
  await allowed("Label…");
  await click("Label…");
  const dialog = await screen.findByRole("dialog", { name: "Label 2 pods" });
  const confirm = within(dialog).getByRole<HTMLButtonElement>("button", { name: "Label 2 pods" });
  const input = within(dialog).getByRole("textbox");
  type(input, "-x=1");
  expect(confirm.disabled).toBe(true);
  type(input, "team=web");
  fireEvent.click(confirm);
  await within(dialog).findByText("0 of 2 done, 2 failed");
  expect(within(dialog).getByRole("alert").textContent).toMatch(/web-1 .*exceeded quota/);
});

test("deleted objects are not selected any more", async () => {
  const { service } = renderPods();
  fireEvent.click(within(await row("web-1")).getByRole("checkbox"));
  fireEvent.click(within(await row("web-2")).getByRole("checkbox"));
  await allowed("Delete…");
  await click("Delete…");
  await click("Delete 2 pods");
  await screen.findByText("2 of 2 done");
  expect(service.deleted).toHaveLength(2);
  await click("Close");
  expect(screen.queryByText("2 selected")).toBeNull();
});

test("deleting deployments counts the pods that are deleted along", async () => {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"), deploymentValue("db"));
  service.set("pods", podValue("web-1"));
  renderPage(service, "/r/deployments.apps");
  await row("db");
  fireEvent.click(screen.getByRole("checkbox", { name: "Select all" }));
  await allowed("Delete…");
  await click("Delete…");
  expect((await screen.findByText("2 pods")).parentElement?.textContent).toBe(
    "2 pods will be deleted along.",
  );
});

/** Waits until an action on the selected objects is allowed. */
async function allowed(name: string): Promise<void> {
  await waitFor(() => {
    expect(screen.getByRole("button", { name }).getAttribute("aria-disabled")).toBe("false");
  });
}

test("a click opens an object, a box selects it, and Shift selects all between", async () => {
  const { history } = renderPods("/r/pods?ns=shop");
  const link = within(await row("web-1")).getByRole("link", { name: "web-1" });
  expect(link.getAttribute("href")).toBe("/o/pods/shop/web-1");
  fireEvent.click(await row("web-1"));
  fireEvent.click(await row("web-2"), { shiftKey: true });
  expect(screen.getByText("2 selected")).toBeTruthy();
  expect(screen.getByRole<HTMLInputElement>("checkbox", { name: "Select all" }).checked).toBe(true);
  await click("Clear");
  expect(screen.queryByText("2 selected")).toBeNull();
  fireEvent.click(link);
  await waitFor(() => {
    expect(history.location.href).toBe("/o/pods/shop/web-1?ns=shop");
  });
});

test("an object that is being deleted looks so", async () => {
  const { service } = renderPods();
  const pod = podValue("web-1");
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  service.set("pods", { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
  await waitFor(() => {
    expect(screen.getByRole("row", { name: /web-1/ }).dataset.deleting).toBe("true");
  });
});

test("a table of a part of the cluster says so, and passes warnings on", () => {
  const view = {
    namespaces: ["a", "b", "c", "d", "e", "f", "g"],
    warnings: ["slow"],
    loaded: true,
  };
  render(<Notices view={view} notice="Only the first 5000 are selected." />);
  const notices = screen.getAllByRole("status").map(({ textContent }) => textContent);
  expect(notices).toEqual([
    "Only the namespaces that you may list: a, b, c, d, e, f and 1 more",
    "slow",
    "Only the first 5000 are selected.",
  ]);
});

test("a table of the namespaces that the service caches says how to read others", () => {
  const warning =
    "the answer covers 1 of the cluster's namespaces: a; the service does not cache pods in others that you may list: name one of them";
  const view = { namespaces: ["a"], warnings: [warning], loaded: true };
  render(<Notices view={view} notice="" />);
  expect(screen.getAllByRole("status").map(({ textContent }) => textContent)).toEqual([
    "Only the namespaces that the service reads: aChoose another namespace to read it at the API server.",
  ]);
});

test("a type that the cluster does not have is named", async () => {
  const service = new FakeService();
  service.refuse("nothings", { reason: "NotFound", code: 404, message: "no such resource" });
  renderPage(service, "/r/nothings");
  await screen.findByText("The cluster has no resource with the name nothings");
});

test("a selector is applied by Enter and by leaving its input, and marked when it is refused", async () => {
  const { service, history } = renderPods();
  const input = await screen.findByRole("searchbox", { name: "Label selector" });
  type(input, "app=web");
  fireEvent.keyDown(input, { key: "Enter" });
  await waitFor(() => {
    expect(history.location.search).toBe("?labels=app%3Dweb");
  });
  type(input, "app=");
  fireEvent.blur(input);
  await waitFor(() => {
    expect(history.location.search).toBe("?labels=app%3D");
  });
  const message = "label_selector: unable to parse";
  service.refuse("pods", { reason: "BadRequest", code: 400, message });
  await waitFor(() => {
    expect(input.getAttribute("aria-invalid")).toBe("true");
  });
});

test("columns are moved, added by their path, and brought back", async () => {
  const { history } = renderPods();
  const titles = () =>
    screen.getAllByRole("columnheader").map((header) => header.dataset.column ?? "");
  await screen.findByRole("columnheader", { name: "Node" });
  const before = titles();
  await click(/^Columns/);
  await click("Move Status to the left");
  await waitFor(() => {
    expect(titles().indexOf("status")).toBe(before.indexOf("status") - 1);
  });
  const path = screen.getByLabelText<HTMLInputElement>("Path of a new column");
  type(path, "spec.serviceAccountName");
  if (path.form) fireEvent.submit(path.form);
  await waitFor(() => {
    expect(titles().at(-1)).toBe("spec.serviceAccountName");
  });
  await click("Default columns");
  await waitFor(() => {
    expect(titles()).toEqual(before);
  });
  expect(history.location.search).toBe("");
  fireEvent.pointerDown(document.body);
  expect(screen.queryByRole("group", { name: "Columns" })).toBeNull();
});

test("the table is saved as a file, and a failure is said", async () => {
  const saved: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    saved.push(blob as Blob);
    return "blob:";
  });
  const { service } = renderPods();
  await row("web-2");
  await click(/^Export/);
  await click(/^CSV/);
  await screen.findByText("Saved 2.");
  expect(await saved[0]?.text()).toContain("web-2");
  service.refuse("pods", { reason: "Forbidden", code: 403, message: "ann cannot list" });
  await click(/^YAML/);
  await screen.findByText("Not saved: ann cannot list");
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
