// @vitest-environment happy-dom
import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Age } from "../src/ui/age.js";
import { Button } from "../src/ui/button.js";
import { Chip } from "../src/ui/chip.js";
import { click } from "./fixture.js";

test("an age advances, and is never negative", () => {
  vi.useFakeTimers();
  try {
    render(<Age since={new Date(Date.now() + 2_000).toISOString()} />);
    const age = screen.getByRole("time");
    expect(age.textContent).toBe("0s");
    act(() => {
      vi.advanceTimersByTime(7_000);
    });
    expect(age.textContent).toBe("5s");
  } finally {
    vi.useRealTimers();
  }
});

test("a button submits a form only if it is asked to", async () => {
  const onSubmit = vi.fn((event: Event) => {
    event.preventDefault();
  });
  render(
    <form
      onSubmit={({ nativeEvent }) => {
        onSubmit(nativeEvent);
      }}
    >
      <Button>Cancel</Button>
      <Button type="submit">Show</Button>
    </form>,
  );
  await click("Cancel");
  expect(onSubmit).not.toHaveBeenCalled();
  await click("Show");
  expect(onSubmit).toHaveBeenCalledOnce();
});

test("a chip has the color of its meaning, and its whole text for a narrow place", () => {
  render(
    <>
      <Chip tone="bad" title="CrashLoopBackOff">
        Crash…
      </Chip>
      <Chip>Normal</Chip>
    </>,
  );
  const chip = screen.getByTitle("CrashLoopBackOff");
  expect(chip.className).not.toBe(screen.getByText("Normal").className);
});
