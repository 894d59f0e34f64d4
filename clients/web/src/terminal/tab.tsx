import type { KubeObject } from "@kubeconnect/client";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { containersOf } from "../model/containernames.js";
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Empty } from "../ui/notice.js";
import ui from "../ui/ui.module.css";
import { Screen } from "./screen.js";
import { Shell, type ContainerName, type ShellState } from "./shell.js";
import styles from "./terminal.module.css";

const route = getRouteApi("/o/$resource/$namespace/$name");

/** The annotation that names the container which is meant if none is named. */
const defaultContainer = "kubectl.kubernetes.io/default-container";

/** A shell in a container of a pod, which ends when its page is left. */
export function TerminalTab({
  object,
  isDeleted,
}: {
  readonly object: KubeObject;
  readonly isDeleted: boolean;
}) {
  const { namespace, name, value } = object;
  const search = route.useSearch();
  const containers = containersOf(value);
  const preferred = [search.container, value.metadata.annotations?.[defaultContainer]];
  const [chosen, setChosen] = useState<string>();
  const container = chosen ?? preferred.find((each) => each && containers.includes(each));
  const shown = container ?? containers[0];
  if (shown === undefined) return <Empty>The pod has no containers.</Empty>;
  return (
    <TerminalOf
      key={shown}
      of={{ namespace, name, container: shown }}
      containers={containers}
      isDeleted={isDeleted}
      onChoose={setChosen}
    />
  );
}

function TerminalOf({
  of,
  containers,
  isDeleted,
  onChoose,
}: {
  readonly of: ContainerName;
  readonly containers: readonly string[];
  readonly isDeleted: boolean;
  readonly onChoose: (container: string) => void;
}) {
  const [state, setState] = useState<ShellState>({ is: "connecting" });
  const [attempt, setAttempt] = useState(0);
  const area = useTerminal(of, attempt, setState);
  const hasEnded = state.is === "ended" || state.is === "failed";
  return (
    <section className={styles.view} aria-label="Terminal">
      <div className={styles.bar} role="toolbar" aria-label="Terminal">
        <label className={styles.choice}>
          <span>Container</span>
          <select
            className={ui.field}
            value={of.container}
            onChange={({ target }) => {
              onChoose(target.value);
            }}
          >
            {containers.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <p className={styles.state} role="status" data-state={state.is}>
          {textOf(state)}
        </p>
        {hasEnded && !isDeleted && (
          <Button
            look="primary"
            autoFocus
            onClick={() => {
              setAttempt(attempt + 1);
            }}
          >
            Reconnect
          </Button>
        )}
        <span className={styles.hint}>
          <kbd>Ctrl Shift L</kbd> leaves the terminal
        </span>
      </div>
      <div ref={area} className={styles.screen} />
    </section>
  );
}

/**
 * Shows a terminal in an element, and runs a shell in it: another one for each attempt. Returns the
 * reference for the element.
 */
function useTerminal(of: ContainerName, attempt: number, onState: (state: ShellState) => void) {
  const { connectContainers } = useSession();
  const area = useRef<HTMLDivElement>(null);
  const [screen, setScreen] = useState<Screen>();
  const shell = useRef<Shell>(undefined);
  const run = useEffectEvent((screen: Screen) => {
    return new Shell(connectContainers, of, screen.size, {
      onState,
      onOutput: (data) => screen.write(data),
    });
  });
  useEffect(() => {
    const element = area.current;
    if (!element) return;
    // The terminal gets these keys, and the shortcuts of the page do not.
    const keep = (event: KeyboardEvent): void => {
      if (!event.metaKey) event.stopPropagation();
    };
    element.addEventListener("keydown", keep);
    const created = new Screen(element, {
      onInput: (text) => shell.current?.write(text),
      onResize: (size) => shell.current?.resize(size),
      onLeave: () => {
        element.closest("article")?.querySelector<HTMLElement>("[role=tab][tabindex='0']")?.focus();
      },
    });
    setScreen(created);
    return () => {
      element.removeEventListener("keydown", keep);
      created.close();
    };
  }, []);
  useEffect(() => {
    if (!screen) return;
    screen.reset();
    screen.focus();
    const running = run(screen);
    shell.current = running;
    return () => {
      running.close();
    };
  }, [screen, attempt]);
  return area;
}

function textOf(state: ShellState): string {
  switch (state.is) {
    case "connecting":
      return "Connecting…";
    case "connected":
      return "Connected";
    case "ended":
      return `The shell has ended with exit code ${state.exitCode}.`;
    case "failed":
      return `Not connected: ${state.message}`;
  }
}
