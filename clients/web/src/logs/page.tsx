import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { LogsSearch } from "../model/addresses.js";
import { Empty } from "../ui/notice.js";
import styles from "./logs.module.css";
import { podsOfSearch } from "./target.js";
import { LogView } from "./view.js";

const route = getRouteApi("/logs");

/** The logs of the pods that the address selects. */
export function LogsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/logs" });
  const { of, labels, ns } = search;
  const pods = podsOfSearch(search);
  if (!pods) {
    return (
      <Empty>
        <h1>No pods are selected</h1>
        <p>
          The address of this page needs <code>?of=deployments/NAMESPACE/NAME</code>, or{" "}
          <code>?labels=app=web</code>. The page of a workload has its logs, too.
        </p>
      </Empty>
    );
  }
  return (
    <div className={styles.page}>
      <h1 className={styles.head}>
        Logs of {of ? <Workload of={of} /> : `${labels ?? ""} in ${ns ?? "all namespaces"}`}
      </h1>
      <LogView
        key={JSON.stringify(pods)}
        pods={pods}
        find={search.find}
        onFind={(find) => {
          void navigate({
            search: (earlier) => withFind(earlier, find),
            replace: true,
          });
        }}
      />
    </div>
  );
}

/** The object whose pods are read: "deployments/NAMESPACE/NAME". */
function Workload({ of }: { readonly of: string }) {
  const [resource = "", namespace = "", name = ""] = of.split("/");
  return (
    <Link to="/o/$resource/$namespace/$name" params={{ resource, namespace, name }} title={of}>
      {name}
    </Link>
  );
}

/** Returns the search of the address with another text to find. */
function withFind(search: LogsSearch, find: string): LogsSearch {
  const { of, labels, ns } = search;
  return { ...(ns && { ns }), ...(of && { of }), ...(labels && { labels }), ...(find && { find }) };
}
