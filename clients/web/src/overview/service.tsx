import { KubeconnectError, type FailedGroupVersion, type ResourceType } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { healthDetail, healthText } from "../model/connection.js";
import { formatBytes } from "../model/quantity.js";
import { resourceName } from "../model/resource.js";
import { typeLabel } from "../model/types.js";
import { useHealth } from "../session/connection.js";
import { useSession } from "../session/session.js";
import { Age, useNow } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import { Notice } from "../ui/notice.js";
import { cacheState, cacheSummary, runningCaches } from "./caches.js";
import styles from "./overview.module.css";

/** How often the state of the caches is read, while the page is visible. */
const refreshMs = 3_000;

/** The state of the service itself, as far as its API tells. */
export function ServicePage() {
  return (
    <div className={styles.page}>
      <h1>Service</h1>
      <div className={styles.cards}>
        <Connection />
        <Caller />
        <Caches />
      </div>
    </div>
  );
}

function Connection() {
  const health = useHealth();
  return (
    <section className={styles.card} aria-labelledby="connection">
      <h2 id="connection">Connection of this page</h2>
      <p>
        <Chip tone={health.is === "live" ? "ok" : "warn"}>{healthText(health)}</Chip>
      </p>
      <p className={styles.dim}>{healthDetail(health, useNow())}</p>
      <dl className={styles.facts}>
        <dt>Address</dt>
        <dd>{window.location.origin}</dd>
      </dl>
    </section>
  );
}

function Caller() {
  const { identity } = useSession();
  const { username, uid, groups, extra } = identity;
  return (
    <section className={styles.card} aria-labelledby="caller">
      <h2 id="caller">You, as the cluster knows you</h2>
      <dl className={styles.facts}>
        <dt>User</dt>
        <dd>{username}</dd>
        {uid && <dt>UID</dt>}
        {uid && <dd>{uid}</dd>}
        <dt>Groups</dt>
        <dd>{groups.length > 0 ? groups.join(", ") : "none"}</dd>
        {Object.entries(extra).map(([key, values]) => (
          <div key={key} className={styles.fact}>
            <dt>{key}</dt>
            <dd>{values.join(", ")}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

interface TypesState {
  readonly types: readonly ResourceType[];
  readonly failed: readonly FailedGroupVersion[];
  readonly loaded: boolean;
  readonly error: string | undefined;
}

/** Reads the types with the states of their caches again and again. */
function useTypes(): TypesState {
  const client = useClient();
  const [state, setState] = useState<TypesState>({
    types: [],
    failed: [],
    loaded: false,
    error: undefined,
  });
  useEffect(() => {
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const { types, failedGroupVersions } = await client.resourceTypes(leaving);
        setState({ types, failed: failedGroupVersions, loaded: true, error: undefined });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setState((earlier) => ({ ...earlier, error: KubeconnectError.from(error).message }));
      }
    };
    void read();
    const timer = setInterval(() => void read(), refreshMs);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [client]);
  return state;
}

function Caches() {
  const { types, failed, loaded, error } = useTypes();
  const caches = runningCaches(types);
  return (
    <section className={styles.card} data-wide="true" aria-labelledby="caches">
      <h2 id="caches">Caches</h2>
      {error && (
        <Notice tone="bad" title="The caches cannot be read">
          {error}
        </Notice>
      )}
      {!loaded && !error && <p className={styles.loading}>Reading the caches…</p>}
      {failed.map(({ group, version, message }) => (
        <Notice key={`${group}/${version}`} tone="warn" title={`${group}/${version} is missing`}>
          {message}
        </Notice>
      ))}
      {loaded && <p>{cacheSummary(caches)}</p>}
      <p className={styles.dim}>
        A cache starts at the first read and stops when it has been unused for a while. Caches of
        resources that you may not list in all namespaces are not shown.
      </p>
      {caches.length > 0 && <CacheTable caches={caches} />}
    </section>
  );
}

function CacheTable({ caches }: { readonly caches: ReturnType<typeof runningCaches> }) {
  return (
    <div className={styles.scroll} role="region" aria-label="Table of the caches" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col">API group</th>
            <th scope="col">State</th>
            <th scope="col" className={styles.right}>
              Objects
            </th>
            <th scope="col" className={styles.right}>
              Size
            </th>
            <th scope="col" className={styles.right}>
              Version
            </th>
            <th scope="col" className={styles.right}>
              Last contact
            </th>
          </tr>
        </thead>
        <tbody>
          {caches.map(({ type, cache }) => {
            const { tone, text } = cacheState(cache);
            const name = resourceName(type.resource);
            return (
              <tr key={name}>
                <th scope="row">
                  <Link to="/r/$resource" params={{ resource: name }} title={name}>
                    {typeLabel(type)}
                  </Link>
                </th>
                <td className={styles.dim}>{type.resource.group}</td>
                <td>
                  <Chip tone={tone}>{text}</Chip>
                </td>
                <td className={styles.right}>{cache.objectCount.toLocaleString("en")}</td>
                <td className={styles.right}>{formatBytes(cache.sizeBytes)}</td>
                <td className={styles.right}>{cache.resourceVersion}</td>
                <td className={styles.right}>
                  <Age since={cache.freshness?.lastContactTime?.toISOString()} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
