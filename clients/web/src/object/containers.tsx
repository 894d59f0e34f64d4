import type { KubeObject } from "@kubeconnect/client";
import {
  containerState,
  type Container,
  type ContainerStatus,
} from "../model/summary/containers.js";
import type { PodValue } from "../model/summary/pod.js";
import { plural } from "../model/summary/types.js";
import type { Tone } from "../model/tone.js";
import { Chip } from "../ui/chip.js";
import styles from "./object.module.css";

interface Shown {
  readonly container: Container;
  readonly isInit: boolean;
  readonly status: ContainerStatus | undefined;
}

/** Returns the containers of a pod, or those of the pods of a workload. */
function containersOf({ value }: KubeObject): readonly Shown[] {
  const { spec, status } = value as PodValue & {
    spec?: { template?: PodValue; jobTemplate?: { spec?: { template?: PodValue } } };
  };
  const pod = spec?.jobTemplate?.spec?.template?.spec ?? spec?.template?.spec ?? spec;
  const of = (
    containers: readonly Container[] | undefined,
    statuses: readonly ContainerStatus[] | undefined,
    isInit: boolean,
  ): readonly Shown[] => {
    if (!Array.isArray(containers)) return []; // a custom resource may have another field of this name
    return (containers as readonly Container[]).map((container) => ({
      container,
      isInit,
      status: statuses?.find(({ name }) => name === container.name),
    }));
  };
  return [
    ...of(pod?.initContainers, status?.initContainerStatuses, true),
    ...of(pod?.containers, status?.containerStatuses, false),
  ];
}

/** The containers: their images, states, resources, ports, and the names of their variables. */
export function Containers({ object }: { readonly object: KubeObject }) {
  const all = containersOf(object);
  if (all.length === 0) return null;
  return (
    <section aria-labelledby="containers">
      <h2 id="containers">Containers</h2>
      <ul className={styles.containers}>
        {all.map((each) => (
          <ContainerCard key={each.container.name} {...each} />
        ))}
      </ul>
    </section>
  );
}

function ContainerCard({ container, isInit, status }: Shown) {
  const { name, image, resources, ports = [] } = container;
  const variables = variableNames(container);
  return (
    <li>
      <p className={styles.containerName}>
        <strong>{name}</strong>
        {isInit && <Chip>init</Chip>}
        {status && <Chip tone={stateTone(status, isInit)}>{containerState(status)}</Chip>}
        {status?.restartCount ? (
          <span className={styles.dim}>{plural(status.restartCount, "restart")}</span>
        ) : null}
      </p>
      <code className={styles.image}>{image}</code>
      <dl className={styles.containerFacts}>
        <Fact name="Requests" value={quantities(resources?.requests)} />
        <Fact name="Limits" value={quantities(resources?.limits)} />
        <Fact
          name="Ports"
          value={ports
            .map(
              (each) =>
                `${each.name ? `${each.name} ` : ""}${each.containerPort}/${each.protocol ?? "TCP"}`,
            )
            .join(", ")}
        />
      </dl>
      {variables.length > 0 && (
        <details>
          <summary>{plural(variables.length, "environment variable")}</summary>
          <ul className={styles.variables}>
            {variables.map((each) => (
              <li key={each}>
                <code>{each}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value || <span className={styles.dim}>none</span>}</dd>
    </div>
  );
}

function quantities(values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** Returns the names of the variables. Their values may be secret. */
function variableNames({ env = [], envFrom = [] }: Container): readonly string[] {
  const all = envFrom.map(({ configMapRef, secretRef }) =>
    secretRef ? `all of secret ${secretRef.name}` : `all of config map ${configMapRef?.name ?? ""}`,
  );
  return [...env.map(({ name }) => name), ...all];
}

function stateTone({ state, ready }: ContainerStatus, isInit: boolean): Tone {
  if (state?.terminated) return state.terminated.exitCode === 0 ? "ok" : "bad";
  if (state?.running) return ready || isInit ? "ok" : "warn";
  const isUsual = /^(ContainerCreating|PodInitializing)?$/.test(state?.waiting?.reason ?? "");
  return isUsual ? "info" : "bad";
}
