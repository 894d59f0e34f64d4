// The pages of the console, with what must be visible before they are looked at.

import { untilHealth } from "./console.mjs";

/**
 * Returns the pages by name: an address, and a function that completes the page. The namespace has a
 * Deployment, a crashing pod, a pod with logs, and a custom resource.
 */
export function pagesOf({ namespace, deployment, pod, logging, custom, labels }) {
  const object = (resource, name, tab) =>
    `/o/${resource}/${namespace}/${name}?ns=${namespace}${tab ? `&tab=${tab}` : ""}`;
  const table = (resource, query = "") => `/r/${resource}?ns=${namespace}${query}`;
  const workload = (tab) => object("deployments.apps", deployment, tab);
  return {
    overview: ["/", heading("Cluster")],
    "overview-namespace": [`/?ns=${namespace}`, heading(namespace)],
    pods: [table("pods"), row],
    "pods-selected": [table("pods"), selected],
    "pods-columns": [table("pods"), columns],
    "pods-none": [table("pods", "&q=no-such-pod"), text("No pods")],
    "pods-filter-error": [table("pods", "&filter=object.spec."), alert],
    custom: [table(custom), row],
    nodes: ["/r/nodes", row],
    events: [table("events"), row],
    "no-such-type": ["/r/nothings", alert],
    deployment: [workload(), tab],
    "deployment-yaml": [workload("yaml"), editor],
    "deployment-edit": [workload("yaml"), edited],
    "deployment-events": [workload("events"), tab],
    "deployment-relations": [workload("relations"), text(/\d+ related objects/)],
    "deployment-history": [workload("history"), tab],
    "deployment-actions": [workload(), actions],
    "deployment-scale": [workload(), action("Scale…")],
    "deployment-delete": [workload(), action("Delete…")],
    "pod-crashing": [object("pods", pod), text("keeps crashing")],
    "pod-logs": [object("pods", logging, "logs"), lines],
    "no-such-object": [object("pods", "no-such-pod"), text("does not exist")],
    logs: [`/logs?labels=${labels}&ns=${namespace}`, lines],
    "logs-none": ["/logs", heading("No pods are selected")],
    service: ["/service", heading("Service")],
    palette: ["/", palette],
    help: ["/", help],
    "user-menu": ["/", userMenu],
    "no-such-address": ["/nothing-here", heading("There is no such page")],
    "no-such-page": ["/service/nothing-here", heading("There is no such page")],
  };
}

/** Opens a page and waits until it is complete. */
export async function open(page, address, [path, complete]) {
  await page.goto(address + path);
  await untilHealth(page, "Live");
  await complete?.(page);
}

function heading(name) {
  return (page) => page.getByRole("main").getByRole("heading", { name, level: 1 }).waitFor();
}

function text(words) {
  return (page) => page.getByRole("main").getByText(words).first().waitFor();
}

async function row(page) {
  await page.getByRole("grid").getByRole("row").nth(1).getByRole("link").waitFor();
}

async function alert(page) {
  await page.getByRole("alert").first().waitFor();
}

async function tab(page) {
  const panel = page.getByRole("tabpanel");
  await panel.getByText("Loading…").waitFor({ state: "hidden" });
  await panel.locator(":scope > *").first().waitFor();
}

async function editor(page) {
  await page.getByRole("textbox", { name: /^YAML of/ }).waitFor();
}

async function edited(page) {
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("textbox", { name: /^Edit / }).waitFor();
}

async function selected(page) {
  await row(page);
  await page.getByRole("checkbox", { name: "Select all" }).click();
  await page.getByRole("group", { name: "Selected objects" }).waitFor();
}

async function columns(page) {
  await row(page);
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByLabel("Path of a new column").waitFor();
}

async function lines(page) {
  await page.getByRole("log").getByText("line").first().waitFor();
}

async function actions(page) {
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByText("Checking permissions").first().waitFor({ state: "hidden" });
}

function action(name) {
  return async (page) => {
    await actions(page);
    await page.getByRole("menuitem", { name }).click();
    await page.getByRole("dialog").waitFor();
  };
}

async function palette(page) {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Go to/ }).fill("pods");
  await page.getByRole("dialog", { name: "Go to" }).getByRole("option").first().waitFor();
}

async function help(page) {
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
}

async function userMenu(page) {
  await page.getByRole("button", { name: "User menu of " }).click();
  await page.getByRole("group", { name: "Theme" }).waitFor();
}
