import { Code, type KubeObject, type KubeconnectError } from "@kubeconnect/client";
import { useResource } from "@kubeconnect/client/react";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { nameOfParams, resourceName } from "../model/resource.js";
import { summarize } from "../model/summary/summarize.js";
import { Empty, Notice } from "../ui/notice.js";
import { Header } from "./header.js";
import styles from "./object.module.css";
import { Tabs } from "./tabs.js";
import { useRelated } from "./userelated.js";

const route = getRouteApi("/o/$resource/$namespace/$name");

/** The page of one object, live. */
export function ObjectPage() {
  const params = route.useParams();
  return <ObjectOf key={JSON.stringify(params)} {...params} />;
}

interface Params {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

function ObjectOf(params: Params) {
  const { object, loaded, error, freshness, connection } = useResource(
    params.resource,
    nameOfParams(params),
  );
  const { last, isDeleted } = useLast(object, loaded);
  useCanonicalAddress(params, last);
  if (!last) {
    if (error) return <Failed error={error} params={params} />;
    return loaded ? <Missing params={params} /> : <Loading params={params} />;
  }
  const isStale = connection?.state === "lost" || freshness?.stale === true;
  return (
    <Loaded object={last} isDeleted={isDeleted} error={error} isStale={isStale && !isDeleted} />
  );
}

/** Returns the last state of an object, and whether the object has been deleted since. */
function useLast(object: KubeObject | undefined, isLoaded: boolean) {
  const [state, setState] = useState<{ last?: KubeObject; isDeleted: boolean }>(neverSeen);
  const isDeleted = !object && state.last !== undefined && (isLoaded || state.isDeleted);
  const last = object ?? state.last;
  if (last && (last !== state.last || isDeleted !== state.isDeleted)) setState({ last, isDeleted });
  return state;
}

const neverSeen = { isDeleted: false };

/** Replaces an address with another name of the resource ("deploy") by the one that all links have. */
function useCanonicalAddress(params: Params, object: KubeObject | undefined): void {
  const navigate = useNavigate();
  const resource = object && resourceName(object.resource);
  useEffect(() => {
    if (!resource || resource === params.resource) return;
    const search = (before: object): object => before;
    void navigate({ to: route.id, params: { ...params, resource }, search, replace: true });
  }, [navigate, params, resource]);
}

function Loaded({
  object,
  isDeleted,
  error,
  isStale,
}: {
  readonly object: KubeObject;
  readonly isDeleted: boolean;
  readonly error: KubeconnectError | undefined;
  readonly isStale: boolean;
}) {
  const related = useRelated(object);
  const summary = summarize(object, related);
  return (
    <article className={styles.page}>
      <Header object={object} summary={summary} isDeleted={isDeleted} />
      {isDeleted && <Deleted />}
      {isStale && (
        <Notice tone="warn" title="This may be outdated">
          The service is unreachable, or does not reach the API server. The page continues by
          itself.
        </Notice>
      )}
      {error && (
        <Notice tone="bad" title="The page is not live any more">
          {error.message}
        </Notice>
      )}
      <Tabs object={object} summary={summary} related={related} isDeleted={isDeleted} />
    </article>
  );
}

/** Says that the object was deleted, and when: when this was first shown. */
function Deleted() {
  const [time] = useState(() => new Date());
  return (
    <Notice tone="warn" title={`Deleted at ${time.toLocaleTimeString()}`}>
      This is its last state. If an object with this name is created again, it appears here.
    </Notice>
  );
}

function Loading({ params: { name } }: { readonly params: Params }) {
  return (
    <div className={styles.loading}>
      <Empty>Reading {name}…</Empty>
    </div>
  );
}

function Missing({ params }: { readonly params: Params }) {
  const { namespace, name } = nameOfParams(params);
  return (
    <Empty>
      <h1>
        {params.resource} {name} does not exist{namespace && ` in ${namespace}`}
      </h1>
      <p>It was deleted, or its name is different. If it is created, it appears here.</p>
      <Link to="/r/$resource" params={{ resource: params.resource }}>
        Show all {params.resource}
      </Link>
    </Empty>
  );
}

function Failed({ error, params }: { readonly error: KubeconnectError; readonly params: Params }) {
  const isForbidden = error.code === Code.PermissionDenied;
  const { namespace, name } = nameOfParams(params);
  return (
    <Empty>
      <h1>
        {isForbidden
          ? `You are not allowed to read ${params.resource} ${name}`
          : `${params.resource} ${name} cannot be shown`}
      </h1>
      <p>{error.message}</p>
      {isForbidden && (
        <p>
          Ask for a role with <code>get</code>, <code>list</code> and <code>watch</code> of{" "}
          <code>{params.resource}</code>
          {namespace && ` in ${namespace}`}.
        </p>
      )}
    </Empty>
  );
}
