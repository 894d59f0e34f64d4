import { act, screen } from "@testing-library/react";
import { Suspense, type ReactNode } from "react";
import { expect, test, vi } from "vitest";
import { KubeconnectProvider, useList } from "../../src/react.js";
import { added, opened, renderWith, service, snapshot } from "./fixture.js";

// React 18 has no `use`.
vi.mock("react", async (original) => ({ ...(await original<object>()), use: undefined }));

function Names(): ReactNode {
  const { objects } = useList("pods", { suspense: true });
  return <p>{objects.map(({ name }) => name).join(",")}</p>;
}

test("a component suspends without React's use", async () => {
  const fake = service();
  const { rerender } = renderWith(fake.client, null);
  await act(async () => {
    rerender(
      <KubeconnectProvider client={fake.client}>
        <Suspense fallback={<p>fallback</p>}>
          <Names />
        </Suspense>
      </KubeconnectProvider>,
    );
    await Promise.resolve();
  });
  expect(screen.getByText(/./).textContent).toBe("fallback");
  await opened(fake, snapshot(added("a")));
  expect(screen.getByText(/./).textContent).toBe("a");
  expect(fake.streams.waiting).toBe(0);
});
