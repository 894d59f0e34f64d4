// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Diverged } from "../src/yaml/diverged.js";
import { YamlEdit } from "../src/yaml/edit.js";
import { Review } from "../src/yaml/review.js";
import { YamlView } from "../src/yaml/view.js";
import {
  click,
  deploymentValue,
  FakeService,
  objectOf,
  renderPage,
  renderWith,
  shownEditor,
} from "./fixture.js";

const web = objectOf("deployments.apps", deploymentValue("web"));
const three = objectOf("deployments.apps", deploymentValue("web", 3));

function serviceWithWeb(): FakeService {
  const service = new FakeService();
  service.set("deployments.apps", deploymentValue("web"));
  return service;
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

const shownText = () => shownEditor().state.doc.toString();

/** Changes the number of replicas in the editor. */
function edit(replicas: number): void {
  const editor = shownEditor();
  const [found = "", before = ""] = /(replicas: )\d+/.exec(editor.state.doc.toString()) ?? [];
  const from = editor.state.doc.toString().indexOf(found);
  act(() => {
    editor.dispatch({ changes: { from, to: from + found.length, insert: `${before}${replicas}` } });
  });
}

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
  expect(shownText()).not.toContain("aHVudGVy");
  fireEvent.click(await screen.findByLabelText("Show values"));
  await screen.findByText(/hunter/);
  expect(shownText()).toContain("aHVudGVy");
});

test("an edit is reviewed before it is applied", async () => {
  const [service, onClose] = [serviceWithWeb(), vi.fn()];
  renderWith(service, <YamlEdit live={web} isDeleted={false} onClose={onClose} />);
  expect(button("Review changes").disabled).toBe(true);
  edit(5);
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

test("the YAML is edited in place, and the draft remains when another tab is shown", async () => {
  renderPage(serviceWithWeb(), "/o/deployments.apps/shop/web?tab=yaml");
  await waitFor(() => {
    expect(button("Edit").disabled).toBe(false);
  });
  await click("Edit");
  expect(shownEditor().contentDOM.getAttribute("aria-label")).toBe("Edit web");
  edit(5);
  fireEvent.click(screen.getByRole("tab", { name: "Summary" }));
  await screen.findByRole("region", { name: "Metadata" });
  fireEvent.click(screen.getByRole("tab", { name: "YAML" }));
  await screen.findByText("Changed, not applied");
  expect(shownText()).toContain("replicas: 5");
  await click("Discard");
  expect(shownText()).toContain("replicas: 2");
});

test("the YAML of a deleted object cannot be edited", async () => {
  const service = serviceWithWeb();
  renderPage(service, "/o/deployments.apps/shop/web?tab=yaml");
  await screen.findByRole("button", { name: "Edit" });
  service.set("deployments.apps");
  await screen.findByText(/^Deleted at/);
  expect(screen.queryByRole("button", { name: "Edit" })).toBeNull();
});

test("a deletion while the YAML is edited is said, and the text remains", () => {
  renderWith(serviceWithWeb(), <YamlEdit live={web} isDeleted onClose={vi.fn()} />);
  edit(5);
  expect(screen.getByText("The object was deleted while you were editing")).toBeTruthy();
  expect(button("Review changes").disabled).toBe(true);
});

test("a change of the YAML that is refused says why", async () => {
  const service = serviceWithWeb();
  service.failure = new ConnectError("exceeded quota", Code.PermissionDenied);
  renderWith(service, <YamlEdit live={web} isDeleted={false} onClose={vi.fn()} />);
  edit(5);
  await click("Review changes");
  expect((await screen.findByRole("alert")).textContent).toContain("exceeded quota");
  expect(shownText()).toContain("replicas: 5");
});

test("the YAML is copied, and what has changed since is counted", async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const service = serviceWithWeb();
  renderPage(service, "/o/deployments.apps/shop/web?tab=yaml");
  await click("Copy");
  await click("Copied");
  expect(writeText).toHaveBeenCalledWith(expect.stringContaining("replicas: 2"));
  service.set("deployments.apps", deploymentValue("web", 3));
  await screen.findByText(/^4 changes since you opened this/);
  await click("Mark as seen");
  expect(screen.queryByText(/since you opened this/)).toBeNull();
});

test("the review shows the server's warnings and the differences, and leads back", async () => {
  const [onApply, onBack] = [vi.fn(), vi.fn()];
  const outcome = { is: "accepted", object: three, live: web, warnings: ["deprecated"] } as const;
  renderWith(
    new FakeService(),
    <Review outcome={outcome} busy={undefined} onApply={onApply} onBack={onBack} />,
  );
  expect(screen.getByText("deprecated")).toBeTruthy();
  expect(shownEditor().dom.textContent).toMatch(/replicas: 2.*replicas: 3/);
  await click("Back to the editor");
  expect(onBack).toHaveBeenCalledOnce();
  expect(onApply).not.toHaveBeenCalled();
});

test("a conflict names who has changed what, and the user chooses", async () => {
  const onRebase = vi.fn();
  const change = { path: ["spec", "replicas"], before: 2, after: 3 };
  const manager = { name: "autoscaler", time: "2026-01-01T00:00:00Z" };
  const conflicts = [{ ...change, manager, mine: { value: 5 } }];
  renderWith(
    new FakeService(),
    <Diverged divergence={{ others: [], conflicts }} onRebase={onRebase} />,
  );
  expect(screen.getByText("autoscaler")).toBeTruthy();
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "Mine: 5" }).checked).toBe(true);
  fireEvent.click(screen.getByRole("radio", { name: "Theirs: 3" }));
  await click("Continue with these choices");
  expect(onRebase).toHaveBeenCalledWith(new Set(["spec.replicas"]));
});
