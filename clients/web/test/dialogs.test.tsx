// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { PropagationPolicy } from "../../ts/src/proto.js";
import { ActionDialog } from "../src/actions/dialogs.js";
import { LabelDialog } from "../src/actions/labeldialog.js";
import { ActionMenu } from "../src/actions/menu.js";
import { ScaleDialog } from "../src/actions/scaledialog.js";
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
  shownEditor,
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
  await click("Cancel");
  expect(onClose).toHaveBeenCalledTimes(2);
});

test("Enter scales, if the number is another one", async () => {
  const service = serviceWithWeb();
  renderWith(service, <ScaleDialog object={web} onClose={vi.fn()} />);
  const input = screen.getByLabelText<HTMLInputElement>("Replicas");
  if (input.form) fireEvent.submit(input.form);
  type(input, "3");
  if (input.form) fireEvent.submit(input.form);
  await waitFor(() => {
    expect(service.patched.map(bodyOf)).toEqual([{ spec: { replicas: 3 } }]);
  });
});

test("a restart changes the template, once it is confirmed", async () => {
  const [service, onClose] = [serviceWithWeb(), vi.fn()];
  renderWith(service, <ActionDialog action="restart" object={web} onClose={onClose} />);
  expect(screen.getByRole("dialog", { name: "Restart web" })).toBeTruthy();
  expect(service.patched).toEqual([]);
  await click("Restart");
  await waitFor(() => {
    expect(onClose).toHaveBeenCalled();
  });
  expect(JSON.stringify(service.patched.map(bodyOf))).toContain("restartedAt");
});

test("a rollback goes back to the revision that the user chooses", async () => {
  const service = new FakeService();
  const revision = (number: number) => ({
    metadata: {
      name: `web-${number}`,
      namespace: "shop",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: { "deployment.kubernetes.io/revision": String(number) },
    },
    spec: { template: { spec: { containers: [{ name: "main", image: `web:${number}` }] } } },
  });
  service.set("replicasets.apps", revision(1), revision(2), revision(3));
  const value = deploymentValue("web");
  const annotations = { "deployment.kubernetes.io/revision": "3" };
  const current = { ...value, metadata: { ...value.metadata, annotations } };
  service.set("deployments.apps", current);
  const object = objectOf("deployments.apps", current);
  renderWith(service, <ActionDialog action="rollback" object={object} onClose={vi.fn()} />);
  await screen.findByRole("button", { name: "Roll back to revision 2" });
  expect(screen.getByRole<HTMLInputElement>("radio", { name: /^3 ?present/ }).disabled).toBe(true);
  fireEvent.click(screen.getByRole("radio", { name: /^1 ?web-1/ }));
  const diff = shownEditor().dom.textContent;
  expect(diff).toContain("web:3");
  expect(diff).toContain("web:1");
  await click("Roll back to revision 1");
  await waitFor(() => {
    expect(JSON.stringify(service.patched.map(bodyOf))).toContain("web:1");
  });
});

test("revisions that cannot be read are an error", async () => {
  const service = serviceWithWeb();
  service.refuse("replicasets.apps", { code: 403, message: "ann cannot list replicasets" });
  renderWith(service, <ActionDialog action="rollback" object={web} onClose={vi.fn()} />);
  expect((await screen.findByRole("alert")).textContent).toContain("ann cannot list replicasets");
  expect(button("Roll back").disabled).toBe(true);
});

const node = { metadata: { name: "node-1" }, spec: {} };

/** Shows the dialog that drains a node with a pod that nothing starts again. */
function renderDrain(change: (service: FakeService) => void = () => undefined) {
  const [service, onClose] = [new FakeService(), vi.fn()];
  service.set("nodes", node);
  service.set("pods", podValue("alone"));
  change(service);
  renderWith(
    service,
    <ActionDialog action="drain" object={objectOf("nodes", node)} onClose={onClose} />,
  );
  return { service, onClose };
}

test("pods that lose something are evicted only if the user says so", async () => {
  const { service } = renderDrain();
  await screen.findByText("no controller will start it elsewhere");
  expect(button("Evict 1 pod").disabled).toBe(true);
  fireEvent.click(screen.getByRole("checkbox"));
  await click("Evict 1 pod");
  await waitFor(() => {
    expect(service.created.map(({ subresource }) => subresource)).toEqual(["eviction"]);
  });
  await screen.findByText(/^0 of 1 gone, 1 shutting down/);
  await click("Stop");
  await screen.findByText(/^Stopped. 0 of 1 gone/);
});

test("a node whose pods cannot be read cannot be drained", async () => {
  renderDrain((service) => {
    service.refuse("pods", { code: 403, message: "ann cannot list pods" });
  });
  expect((await screen.findByRole("alert")).textContent).toContain("ann cannot list pods");
  expect(button("Evict 0 pods").disabled).toBe(true);
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
  const [request] = service.deleted;
  expect(request?.preconditions?.uid).toBe("uid-web");
  expect(request?.propagationPolicy).toBe(PropagationPolicy.ORPHAN);
});

test("a pod can be deleted at once, which the dialog explains", async () => {
  const service = new FakeService();
  service.set("pods", podValue("web-1"));
  renderPage(service, "/o/pods/shop/web-1");
  await click(/^Actions/);
  fireEvent.click(await screen.findByRole("menuitem", { name: "Delete…" }));
  const dialog = await screen.findByRole("dialog", { name: "Delete Pod web-1?" });
  const grace = within(dialog).getByLabelText("Grace period in seconds");
  type(grace, "soon");
  expect(within(dialog).getByRole<HTMLButtonElement>("button", { name: "Delete" }).disabled).toBe(
    true,
  );
  type(grace, "0");
  within(dialog).getByText(/^The pod is killed at once/);
  fireEvent.click(within(dialog).getByRole("button", { name: "Delete" }));
  await waitFor(() => {
    expect(service.deleted[0]?.gracePeriodSeconds).toBe(0n);
  });
});

test("deleting a namespace warns of what is not counted", async () => {
  const service = new FakeService();
  service.set("namespaces", { metadata: { name: "shop" } });
  renderPage(service, "/o/namespaces/-/shop");
  await click(/^Actions/);
  fireEvent.click(await screen.findByRole("menuitem", { name: "Delete…" }));
  await screen.findByText(/^Everything in the namespace is deleted/);
  expect(screen.queryByLabelText("Owned objects")).toBeNull();
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
  service.failure = new ConnectError("exceeded quota", Code.PermissionDenied);
  await click(/^Actions/);
  fireEvent.click(await screen.findByRole("menuitem", { name: "Cordon" }));
  await screen.findByText(/exceeded quota/);
});
