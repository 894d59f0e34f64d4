import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { TableChange } from "../model/addresses.js";
import { ResourceTable } from "./resourcetable.js";
import { Loading } from "./states.js";
import { useTableKind } from "./usecolumns.js";

const route = getRouteApi("/r/$resource");

/** The view of the objects of a resource. */
export function TablePage() {
  const { resource } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const kind = useTableKind(resource);
  if (!kind) return <Loading />;
  const onSearch = (change: TableChange) => {
    const next = Object.entries({ ...search, ...change }).filter(([, value]) => value);
    const to = { to: "/r/$resource", params: { resource }, search: Object.fromEntries(next) };
    void navigate({ ...to, replace: true });
  };
  return <ResourceTable key={kind.resource} kind={kind} search={search} onSearch={onSearch} />;
}
