import { EditorView } from "@codemirror/view";
import { Code, ConnectError } from "@connectrpc/connect";
import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { LabelDialog } from "../src/actions/labeldialog.js";
import { ActionMenu } from "../src/actions/menu.js";
import { ScaleDialog } from "../src/actions/scaledialog.js";
import { YamlEdit } from "../src/yaml/edit.js";
import { YamlView } from "../src/yaml/view.js";
import {
  bodyOf,
  click,
  deploymentValue,
  FakeService,
  objectOf,
  podValue,
  press,
  renderPage,
  renderWith,
  type,
} from "./fixture.js";

const web = objectOf("deployments.apps", deploymentValue("web"));

/** A service with a deployment of two replicas. */
function serviceWithWeb(): FakeService {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"));
  return service;
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

test("scaling asks for a number, and changes the scale", async () => {
  const [service, onClose] = [serviceWithWeb(), vi.fn()];
  renderWith(service, <ScaleDialog object={web} onClose={onClose} />);
  expect(screen.getByRole("dialog", { name: "Scale web" })).toBeTruthy();
  expect(button("Scale").disabled).toBe(true); // two replicas, as now
  type(screen.getByLabelText("Replicas"), "3");
  await click("Scale");
  await waitFor(() => {
    expect(onClose).toHaveBeenCalled();
  });
  const [request] = service.patched;
  expect(request).toMatchObject({ name: "web", namespace: "shop", subresource: "scale" });
  expect(request && bodyOf(request)).toEqual({ spec: { replicas: 3 } });
});

test("scaling to zero says what it does", () => {
  renderWith(serviceWithWeb(), <ScaleDialog object={web} onClose={vi.fn()} />);
  type(screen.getByLabelText("Replicas"), "0");
  expect(screen.getByText(/All of its pods will be deleted/)).toBeTruthy();
  expect(button("Scale to zero").disabled).toBe(false);
});

test("a number of replicas that is none cannot be sent", () => {
  renderWith(serviceWithWeb(), <ScaleDialog object={web} onClose={vi.fn()} />);
  type(screen.getByLabelText("Replicas"), "-1");
  expect(screen.getByLabelText("Replicas").getAttribute("aria-invalid")).toBe("true");
  expect(button("Scale").disabled).toBe(true);
});

test("a change that is refused says why, and the dialog remains", async () => {
  const [service, onClose] = [serviceWithWeb(), vi.fn()];
  service.failure = new ConnectError("exceeded quota", Code.PermissionDenied);
  renderWith(service, <ScaleDialog object={web} onClose={onClose} />);
  type(screen.getByLabelText("Replicas"), "9");
  await click("Scale");
  expect((await screen.findByRole("alert")).textContent).toContain("exceeded quota");
  expect(onClose).not.toHaveBeenCalled();
  fireEvent(screen.getByRole("dialog"), new Event("cancel")); // Escape
  expect(onClose).toHaveBeenCalledOnce();
});

test("labels are edited as lines, and only what differs is sent", async () => {
  const service = serviceWithWeb();
  renderWith(service, <LabelDialog object={web} onClose={vi.fn()} />);
  const text = screen.getByRole<HTMLTextAreaElement>("textbox");
  expect(text.value).toBe("app=web");
  type(text, "team=blue");
  await click("Change 2 labels");
  await waitFor(() => {
    expect(service.patched).toHaveLength(1);
  });
  const [request] = service.patched;
  expect(request && bodyOf(request)).toEqual({
    metadata: { labels: { team: "blue", app: null } },
  });
});

test("a text that is no label cannot be sent, and says where", () => {
  renderWith(serviceWithWeb(), <LabelDialog object={web} onClose={vi.fn()} />);
  type(screen.getByRole("textbox"), "app=web\n-x=1");
  expect(screen.getByRole("status").textContent).toBe('"-x" is not the name of a label');
  expect(button("Change 0 labels").disabled).toBe(true);
});

test("deleting says what it takes along, and deletes only this object", async () => {
  const service = serviceWithWeb();
  service.set("pods", podValue("web-1"), podValue("web-2"));
  renderPage(service, "/o/deployments.apps/shop/web");
  await click(/^Actions/);
  const item = await screen.findByRole("menuitem", { name: "Delete…" });
  fireEvent.click(item);
  const dialog = await screen.findByRole("dialog", { name: "Delete Deployment web?" });
  await within(dialog).findByText(/^2 pods$/i);
  fireEvent.change(within(dialog).getByLabelText("Owned objects"), { target: { value: "orphan" } });
  expect(within(dialog).getByText("It owns these objects, which are kept:")).toBeTruthy();
  expect(service.deleted).toEqual([]);
  fireEvent.click(within(dialog).getByRole("button", { name: "Delete" }));
  await waitFor(() => {
    expect(screen.queryByRole("dialog")).toBeNull();
  });
  expect(service.deleted[0]?.preconditions?.uid).toBe("uid-web");
});

test("the menu of actions is used by keys, and gives the focus back", async () => {
  renderWith(serviceWithWeb(), <ActionMenu object={web} />);
  await click(/^Actions/);
  const menu = screen.getByRole("menu", { name: "Actions" });
  const items = within(menu).getAllByRole("menuitem");
  expect(document.activeElement).toBe(items[0]);
  press("ArrowDown");
  expect(document.activeElement).toBe(items[1]);
  press("End");
  expect(document.activeElement).toBe(items.at(-1));
  press("ArrowDown");
  expect(document.activeElement).toBe(items[0]);
  press("Escape");
  expect(screen.queryByRole("menu")).toBeNull();
  expect(document.activeElement).toBe(screen.getByRole("button", { name: /^Actions/ }));
});

test("an action that is not allowed says why, and does nothing", async () => {
  const service = serviceWithWeb();
  service.denied = ({ verb }) => (verb === "delete" ? "no role" : undefined);
  renderWith(service, <ActionMenu object={web} />);
  await click(/^Actions/);
  const refusal = "You are not allowed to delete deployments.apps in shop: no role";
  const item = (await screen.findByText(refusal)).closest("[role=menuitem]");
  expect(item?.getAttribute("aria-disabled")).toBe("true");
  if (item) fireEvent.click(item);
  expect(screen.queryByRole("dialog")).toBeNull();
  const scale = screen.getByRole("menuitem", { name: "Scale…" });
  expect(scale.getAttribute("aria-disabled")).toBe("false");
});

test("a node is cordoned at once", async () => {
  const service = new FakeService();
  const node = { metadata: { name: "node-1" }, spec: {} };
  service.set("nodes", node);
  renderWith(service, <ActionMenu object={objectOf("nodes", node)} />);
  await click(/^Actions/);
  const item = await screen.findByRole("menuitem", { name: "Cordon" });
  await waitFor(() => {
    expect(item.getAttribute("aria-disabled")).toBe("false");
  });
  fireEvent.click(item);
  await waitFor(() => {
    expect(service.patched).toHaveLength(1);
  });
  const [request] = service.patched;
  expect(request && bodyOf(request)).toEqual({ spec: { unschedulable: true } });
});

test("the YAML can be edited only with the permission", async () => {
  const service = serviceWithWeb();
  service.denied = () => "no role";
  renderWith(service, <YamlView object={web} onEdit={vi.fn()} />);
  await screen.findByText(/You are not allowed to update deployments.apps in shop/);
  expect(button("Edit").disabled).toBe(true);
});

test("the values of a secret are hidden until the user wants them", async () => {
  const value = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key", namespace: "shop" },
    data: { key: "aHVudGVy" },
  };
  renderWith(new FakeService(), <YamlView object={objectOf("secrets", value)} onEdit={vi.fn()} />);
  expect(screen.queryByText(/hunter/)).toBeNull();
  fireEvent.click(await screen.findByLabelText("Show values"));
  await screen.findByText(/hunter/);
});

test("an edit is reviewed before it is applied", async () => {
  const [service, onClose] = [serviceWithWeb(), vi.fn()];
  renderWith(service, <YamlEdit live={web} isDeleted={false} onClose={onClose} />);
  expect(button("Review changes").disabled).toBe(true);
  const editor = shownEditor();
  const at = editor.state.doc.toString().indexOf("replicas: 2") + "replicas: ".length;
  act(() => {
    editor.dispatch({ changes: { from: at, to: at + 1, insert: "5" } });
  });
  expect(screen.getByText("Changed, not applied")).toBeTruthy();
  await click("Review changes");
  const apply = await screen.findByRole("button", { name: "Apply" });
  expect(service.updated.map(({ dryRun }) => dryRun)).toEqual([true]);
  fireEvent.click(apply);
  await waitFor(() => {
    expect(onClose).toHaveBeenCalled();
  });
  expect(service.updated.map(({ dryRun }) => dryRun)).toEqual([true, false]);
});

/** Returns the editor, which is in a shadow root. */
function shownEditor(): EditorView {
  const host = [...document.querySelectorAll("div")].find(({ shadowRoot }) => shadowRoot);
  const content = host?.shadowRoot?.querySelector<HTMLElement>(".cm-content");
  const editor = content && EditorView.findFromDOM(content);
  if (!editor) throw new Error("there is no editor");
  return editor;
}
