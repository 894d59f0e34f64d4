import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { fireEvent, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { LogView } from "../src/logs/view.js";
import { click, FakeService, press, renderWith, type } from "./fixture.js";

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
  for (const text of ["one error", "fine", "another error"]) send(text);
  await screen.findByText("fine");
  press("/");
  const field = screen.getByRole("searchbox", { name: "Search these lines" });
  expect(document.activeElement).toBe(field);
  type(field, "error");
  expect(screen.getByText("2 lines")).toBeTruthy();
  press("Enter");
  expect(await screen.findByText("1 of 2 lines")).toBeTruthy();
  press("Enter");
  expect(await screen.findByText("2 of 2 lines")).toBeTruthy();
});

test("the lines of a container can be hidden", async () => {
  const { send } = await renderLogs();
  send("of main");
  send("of sidecar", "sidecar");
  await screen.findByText("of sidecar");
  fireEvent.click(await screen.findByRole("button", { name: "sidecar" }));
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
});

test("a refusal says why there are no logs", async () => {
  const { stream } = await renderLogs();
  stream.send(new ConnectError("ann cannot get pods/log", Code.PermissionDenied));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The logs cannot be read");
  expect(alert.textContent).toContain("ann cannot get pods/log");
});

test("a pod without lines says so", async () => {
  const { stream } = await renderLogs();
  stream.send({ coversAll: true });
  await screen.findByText("There are no lines yet.");
});
