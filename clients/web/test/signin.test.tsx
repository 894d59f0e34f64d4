// @vitest-environment happy-dom
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { SignIn } from "../src/session/signin.js";
import { click, FakeService, podValue, renderPage, settle, type } from "./fixture.js";

/** A service that accepts one token only. */
function closedService(): FakeService {
  const service = new FakeService();
  service.token = "secret";
  service.set("pods", podValue("web-1"));
  return service;
}

const tokenInput = () => screen.findByLabelText<HTMLInputElement>("Bearer token");

async function signIn(token: string): Promise<void> {
  type(await tokenInput(), token);
  await click("Sign in");
}

test("without a token the page asks for one, and shows nothing else", async () => {
  renderPage(closedService(), "/r/pods");
  expect((await tokenInput()).type).toBe("password");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Sign in" }).disabled).toBe(true);
  expect(screen.queryByRole("navigation")).toBeNull();
});

test("a token that is not accepted can be mended", async () => {
  renderPage(closedService(), "/r/pods");
  await signIn("wrong");
  expect((await screen.findByRole("alert")).textContent).toBe("the token is not accepted");
  expect((await tokenInput()).getAttribute("aria-invalid")).toBe("true");
  await signIn(" secret\n"); // as it was copied
  await screen.findByRole("row", { name: /web-1/ });
});

test("after signing out the page asks for a token again", async () => {
  renderPage(closedService(), "/r/pods");
  await signIn("secret");
  await click("User menu of ann");
  await click("Sign out");
  await tokenInput();
  expect(screen.queryByRole("grid")).toBeNull();
});

test("without authentication nobody can sign out", async () => {
  const service = new FakeService();
  renderPage(service, "/r/pods");
  const menu = await screen.findByRole("button", { name: "User menu of ann" });
  await settle();
  const before = service.identified;
  menu.click();
  await waitFor(() => {
    expect(service.identified).toBeGreaterThan(before); // without a token
  });
  await settle();
  expect(screen.getByRole("list", { name: "Groups" }).textContent).toBe("system:authenticated");
  expect(screen.queryByRole("button", { name: "Sign out" })).toBeNull();
});

test("the page continues where it was when the token has expired and another is given", async () => {
  const service = closedService();
  renderPage(service, "/r/pods");
  await signIn("secret");
  await screen.findByRole("row", { name: /web-1/ });
  service.token = "next";
  service.interrupt();
  const dialog = await screen.findByRole("dialog", { name: "Sign in again" });
  expect(fireEvent(dialog, new Event("cancel", { cancelable: true }))).toBe(false); // Escape
  await signIn("wrong");
  expect((await screen.findByRole("alert")).textContent).toBe("the token is not accepted");
  expect(screen.getByText(/The token of ann has expired/)).toBeTruthy();
  expect(screen.getByText("Signed out")).toBeTruthy();
  expect(screen.getByRole("row", { name: /web-1/ })).toBeTruthy();
  service.set("pods", podValue("web-1"), podValue("web-2"));
  await signIn("next");
  await screen.findByRole("row", { name: /web-2/ });
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("another user sees nothing of the one whose token has expired", async () => {
  const service = closedService();
  renderPage(service, "/r/pods");
  await signIn("secret");
  const box = await screen.findByRole<HTMLInputElement>("checkbox", { name: "Select web-1" });
  box.click();
  await screen.findByText("1 selected");
  service.token = "other";
  service.username = "bob";
  service.interrupt();
  await screen.findByRole("dialog", { name: "Sign in again" });
  await signIn("other");
  await screen.findByRole("button", { name: "User menu of bob" });
  await screen.findByRole("row", { name: /web-1/ });
  expect(screen.queryByText("1 selected")).toBeNull();
});

const issuer = { url: "https://issuer.example", clientId: "console", scopes: ["openid"] };

test("the page offers to sign in with the issuer of the service", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ issuer })));
  renderPage(closedService(), "/");
  const button = await screen.findByRole("button", { name: "Sign in with issuer.example" });
  await waitFor(() => {
    expect(document.activeElement).toBe(button);
  });
});

test("a sign-in with the issuer that has failed says why", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ issuer })));
  render(<SignIn issuerError="access was denied" onToken={() => Promise.resolve()} />);
  expect((await screen.findByRole("alert")).textContent).toBe("access was denied");
});

test("a user who is still signed in at the issuer sees that, and can sign out there", async () => {
  const signOutOfIssuer = { host: "issuer.example", address: "https://issuer.example/end" };
  render(<SignIn signOutOfIssuer={signOutOfIssuer} onToken={() => Promise.resolve()} />);
  await screen.findByText("You are signed out of the console, but not of issuer.example.");
  const link = screen.getByRole("link", { name: "Sign out of issuer.example" });
  expect(link.getAttribute("href")).toBe("https://issuer.example/end");
});
