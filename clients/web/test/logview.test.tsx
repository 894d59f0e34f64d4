// @vitest-environment happy-dom
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { LogView } from "../src/logs/view.js";
import { click, FakeService, podValue, press, renderPage, renderWith, type } from "./fixture.js";

/** Shows the logs of a pod, whose lines the test sends. */
async function renderLogs(containers: readonly string[] = []) {
  const service = new FakeService();
  const pods = { namespace: "shop", name: "web-1" };
  renderWith(service, <LogView pods={pods} containers={containers} />);
  const stream = await service.logs.next();
  let sequence = 0;
  const send = (text: string, container = "main") => {
    const time = timestampFromMs(1_700_000_000_000 + ++sequence);
    const line = { namespace: "shop", pod: "web-1", container, time, sequence: 0 };
    stream.send({ lines: [{ ...line, text: new TextEncoder().encode(text) }] });
  };
  return { service, stream, send };
}

test("lines appear as they are written", async () => {
  const { send } = await renderLogs();
  send("first line");
  const log = await screen.findByRole("log", { name: "Lines of the logs" });
  send("second line");
  await within(log).findByText("second line");
  expect(within(log).getByText("first line")).toBeTruthy();
});

test("lines that are written while paused wait until the user continues", async () => {
  const { send } = await renderLogs();
  send("first line");
  await screen.findByText("first line");
  await click("Pause");
  await screen.findByRole("button", { name: "Paused · jump to newest" });
  send("second line");
  const jump = await screen.findByRole("button", { name: "1 new · jump to newest" });
  expect(screen.queryByText("second line")).toBeNull();
  fireEvent.click(jump);
  await screen.findByText("second line");
});

test("the search counts lines and goes from match to match", async () => {
  const { send } = await renderLogs();
  for (const text of ["one error", "fine", "another error", "last error"]) send(text);
  await screen.findByText("last error");
  press("/");
  const field = screen.getByRole("searchbox", { name: "Search these lines" });
  expect(document.activeElement).toBe(field);
  type(field, "error");
  expect(screen.getByText("3 lines")).toBeTruthy();
  press("Enter");
  expect(await screen.findByText("1 of 3 lines")).toBeTruthy();
  press("Enter");
  expect(await screen.findByText("2 of 3 lines")).toBeTruthy();
  press("Enter", { shiftKey: true });
  expect(await screen.findByText("1 of 3 lines")).toBeTruthy();
  await click("Next match");
  expect(await screen.findByText("2 of 3 lines")).toBeTruthy();
  await click("Previous match");
  expect(await screen.findByText("1 of 3 lines")).toBeTruthy();
  const marks = [...document.querySelectorAll("mark")];
  expect(marks.map(({ textContent }) => textContent)).toEqual(["error", "error", "error"]);
  await screen.findByRole("button", { name: "Resume" }); // the match stays in sight
});

test("the lines of a container can be hidden", async () => {
  const { send } = await renderLogs();
  send("of main");
  send("of sidecar", "sidecar");
  await screen.findByText("of sidecar");
  const lines = within(screen.getByRole("log")).getAllByText(/^(main|sidecar)$/);
  expect(lines.map(({ textContent }) => textContent)).toEqual(["main", "sidecar"]);
  const sidecar = screen.getByRole("button", { name: "sidecar", pressed: true });
  fireEvent.click(sidecar);
  expect(sidecar.getAttribute("aria-pressed")).toBe("false");
  expect(screen.queryByText("of sidecar")).toBeNull();
  expect(screen.getByText("of main")).toBeTruthy();
});

test("another choice is asked of the service", async () => {
  const { service } = await renderLogs(["main", "sidecar"]);
  fireEvent.change(screen.getByLabelText("Container"), { target: { value: "sidecar" } });
  const { request } = await service.logs.next();
  expect(request.container).toBe("sidecar");
});

test("a filter is applied by the service, on Enter", async () => {
  const { service } = await renderLogs();
  const input = screen.getByRole("textbox", { name: "Read only lines with" });
  type(input, "error");
  fireEvent.submit(input);
  const { request } = await service.logs.next();
  expect(request.lineFilter?.contains).toBe("error");
  fireEvent.click(screen.getByLabelText("Regex"));
  expect((await service.logs.next()).request.lineFilter?.regex).toBe("error");
});

test("lines are shown without their times, and wrapped", async () => {
  const { send } = await renderLogs();
  send("first line");
  await screen.findByText("first line");
  expect(screen.getByRole("time")).toBeTruthy();
  fireEvent.click(screen.getByLabelText("Times"));
  expect(screen.queryByRole("time")).toBeNull();
  fireEvent.click(screen.getByLabelText("Wrap"));
  expect(screen.getByRole("log").dataset.wrap).toBe("true");
  expect(screen.getByText("first line")).toBeTruthy();
});

test("Space stops the lines and lets them continue, and so does scrolling up", async () => {
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(2_000);
  const { send } = await renderLogs();
  send("first line");
  await screen.findByText("first line");
  press(" ");
  await click("Resume");
  await screen.findByRole("button", { name: "Pause" });
  fireEvent.wheel(screen.getByRole("log"), { deltaY: -10 });
  await screen.findByRole("button", { name: "Resume" });
});

test("a line is selected by keys, and copied", async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const { send } = await renderLogs();
  for (const text of ["first line", "second line"]) send(text);
  await screen.findByText("second line");
  const log = screen.getByRole("log");
  log.focus();
  press("k");
  press("k");
  expect(log.querySelector("[aria-current]")?.textContent).toContain("first line");
  press("c");
  expect(writeText).toHaveBeenLastCalledWith("first line");
  const copy = within(log).getAllByRole("button", { name: "Copy" })[1];
  if (copy) fireEvent.click(copy);
  expect(writeText).toHaveBeenLastCalledWith("second line");
});

test("the lines are saved as a file", async () => {
  const saved: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    saved.push(blob as Blob);
    return "blob:";
  });
  const { send } = await renderLogs();
  send("first line");
  await screen.findByText("first line");
  await click("Download");
  expect(await saved[0]?.text()).toContain("first line");
});

test("a lost connection is said, and the lines remain", async () => {
  const { stream, send } = await renderLogs();
  send("first line");
  await screen.findByText("first line");
  stream.send(new ConnectError("down", Code.Unavailable));
  await screen.findByText("Connection lost");
  expect(screen.getByText("first line")).toBeTruthy();
});

test("the warnings of the service are shown", async () => {
  const { stream, send } = await renderLogs();
  stream.send({ warnings: ["2 pods are left out"] });
  send("first line");
  await screen.findByText("2 pods are left out");
});

test("the logs of the previous run are asked of the service, and end", async () => {
  const { service } = await renderLogs();
  fireEvent.click(screen.getByLabelText("Previous run"));
  const previous = await service.logs.next();
  expect(previous.request).toMatchObject({ previous: true, follow: false });
  previous.send({ coversAll: true });
  previous.end();
  await screen.findByText("All logs have been read to their end.");
  expect(screen.getByText("No container has lines of a previous run.")).toBeTruthy();
});

test("an address without pods says what it needs", async () => {
  renderPage(new FakeService(), "/logs");
  await screen.findByRole("heading", { name: "No pods are selected" });
});

test("what is searched is in the address", async () => {
  const history = renderPage(new FakeService(), "/logs?labels=app%3Dweb&ns=shop");
  await screen.findByRole("heading", { name: "Logs of app=web in shop" });
  type(screen.getByRole("searchbox", { name: "Search these lines" }), "error");
  await waitFor(() => {
    expect(history.location.search).toContain("find=error");
  });
});

test("the page of a pod lets the user choose a container", async () => {
  const service = new FakeService();
  const containers = [{ name: "main" }, { name: "sidecar" }];
  service.set("pods", { ...podValue("web-1"), spec: { containers } });
  renderPage(service, "/o/pods/shop/web-1?tab=logs&container=sidecar");
  const choice = await screen.findByLabelText<HTMLSelectElement>("Container");
  expect(choice.value).toBe("sidecar");
  expect((await service.logs.next()).request.container).toBe("sidecar");
});

test("the page of a cron job shows the logs of its last job", async () => {
  const service = new FakeService();
  const job = (name: string, creationTimestamp: string) => ({
    metadata: { name, namespace: "shop", creationTimestamp },
    spec: { selector: { matchLabels: { job: name } } },
  });
  service.set("cronjobs.batch", { metadata: { name: "report", namespace: "shop" }, spec: {} });
  const jobs = [job("report-2", "2026-01-02T00:00:00Z"), job("report-1", "2026-01-01T00:00:00Z")];
  service.set("jobs.batch", ...jobs.toReversed());
  renderPage(service, "/o/cronjobs.batch/shop/report?tab=logs");
  expect(JSON.stringify((await service.logs.next()).request.related)).toContain("report-2");
});
