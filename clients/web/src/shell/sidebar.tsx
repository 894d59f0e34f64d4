import type { ResourceType } from "@kubeconnect/client";
import { useCount } from "@kubeconnect/client/react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { fuzzyRank } from "../model/fuzzy.js";
import { resourceName } from "../model/resource.js";
import { countedTypes, groupTypes, typeLabel, typeNames, type TypeGroup } from "../model/types.js";
import { useCatalog } from "../session/catalog.js";
import { useNamespace } from "../session/namespace.js";
import { Button } from "../ui/button.js";
import { toggled, useStored } from "../ui/stored.js";
import ui from "../ui/ui.module.css";
import styles from "./sidebar.module.css";

/** The maximum number of counts: each one starts a cache in the service. */
const maxCounts = 30;

const openAtFirst: readonly string[] = ["Pinned", "Workloads"];
const nothing: readonly string[] = [];

/** The navigation to all resources that the caller may list. On small screens it is a drawer. */
export function Sidebar({ isOpen }: { readonly isOpen: boolean }) {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isOpen) element.current?.querySelector("a")?.focus();
  }, [isOpen]);
  const catalog = useCatalog();
  const navigate = useNavigate();
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useStored("kubeconnect.groups", openAtFirst);
  const [pinned, setPinned] = useStored("kubeconnect.pinned", nothing);
  const isFiltered = filter.trim() !== "";
  const found = isFiltered ? fuzzyRank(filter, catalog.types, typeNames) : catalog.types;
  const groups = isFiltered ? [{ name: "Found", types: found }] : withPinned(found, pinned);
  const isGroupOpen = (name: string) => isFiltered || open.includes(name);
  const counted = isFiltered ? new Set<string>() : countedTypes(groups, isGroupOpen, maxCounts);
  return (
    <nav
      ref={element}
      id="sidebar"
      className={styles.sidebar}
      data-open={isOpen || undefined}
      aria-label="Resources"
      onKeyDown={moveFocus}
    >
      <Link to="/" className={styles.brand}>
        kubeconnect
      </Link>
      <input
        className={ui.field}
        type="search"
        placeholder="Filter types"
        aria-label="Filter the resource types"
        value={filter}
        onChange={(event) => {
          setFilter(event.target.value);
        }}
        onKeyDown={(event) => {
          const first = found[0];
          if (event.key === "Escape") setFilter("");
          if (event.key !== "Enter" || !isFiltered || !first) return;
          setFilter("");
          void navigate({
            to: "/r/$resource",
            params: { resource: resourceName(first.resource) },
          });
        }}
      />
      <div className={styles.scroll}>
        <Link to="/" className={styles.entry} activeOptions={{ exact: true, includeSearch: false }}>
          Overview
        </Link>
        {groups.map((group) => (
          <Group
            key={group.name}
            group={group}
            isOpen={isGroupOpen(group.name)}
            onToggle={() => {
              setOpen(toggled(open, group.name));
            }}
            counted={counted}
            pinned={pinned}
            onPin={(name) => {
              setPinned(toggled(pinned, name));
            }}
          />
        ))}
        {isFiltered && found.length === 0 && <p className={styles.note}>No type has this name.</p>}
        <SidebarNotes />
        <Link to="/service" className={styles.entry} activeOptions={{ includeSearch: false }}>
          Service
        </Link>
      </div>
    </nav>
  );
}

function withPinned(types: readonly ResourceType[], pinned: readonly string[]): TypeGroup[] {
  const chosen = types.filter(({ resource }) => pinned.includes(resourceName(resource)));
  const groups = groupTypes(types);
  return chosen.length > 0 ? [{ name: "Pinned", types: chosen }, ...groups] : [...groups];
}

interface GroupProps {
  readonly group: TypeGroup;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly counted: ReadonlySet<string>;
  readonly pinned: readonly string[];
  readonly onPin: (name: string) => void;
}

function Group({ group: { name, types }, isOpen, onToggle, counted, pinned, onPin }: GroupProps) {
  return (
    <section>
      <button type="button" className={styles.heading} aria-expanded={isOpen} onClick={onToggle}>
        <span className={styles.arrow} aria-hidden="true" />
        {name}
      </button>
      {isOpen && (
        <ul className={styles.list} aria-label={name}>
          {types.map((type) => {
            const resource = resourceName(type.resource);
            return (
              <Entry
                key={resource}
                type={type}
                isCounted={counted.has(resource)}
                isPinned={pinned.includes(resource)}
                onPin={() => {
                  onPin(resource);
                }}
              />
            );
          })}
        </ul>
      )}
    </section>
  );
}

interface EntryProps {
  readonly type: ResourceType;
  readonly isCounted: boolean;
  readonly isPinned: boolean;
  readonly onPin: () => void;
}

function Entry({ type, isCounted, isPinned, onPin }: EntryProps) {
  const label = typeLabel(type);
  const resource = resourceName(type.resource);
  return (
    <li className={styles.item}>
      <Link
        to="/r/$resource"
        params={{ resource }}
        className={styles.entry}
        title={resource}
        activeOptions={{ includeSearch: false }}
      >
        <span className={styles.label}>{label}</span>
        {isCounted && <Total resource={resource} isNamespaced={type.resource.namespaced} />}
      </Link>
      <button
        type="button"
        className={styles.pin}
        aria-pressed={isPinned}
        aria-label={`Pin ${label}`}
        title={isPinned ? "Remove from the pinned types" : "Pin to the top"}
        onClick={onPin}
      >
        {isPinned ? "★" : "☆"}
      </button>
    </li>
  );
}

/** The live number of objects. */
function Total({
  resource,
  isNamespaced,
}: {
  readonly resource: string;
  readonly isNamespaced: boolean;
}) {
  const namespace = useNamespace();
  const { total } = useCount(resource, { ...(isNamespaced && namespace && { namespace }) });
  return <span className={styles.count}>{total?.toLocaleString("en")}</span>;
}

/** What is missing in the sidebar, and why. */
function SidebarNotes() {
  const { loaded, error, failed, types, namespaces, retry } = useCatalog();
  const namespace = useNamespace();
  if (error) {
    return (
      <div className={styles.note} role="status">
        <p>
          {loaded ? "The types may be outdated" : "The types cannot be read"}: {error.message}
        </p>
        <Button onClick={retry}>Try again</Button>
      </div>
    );
  }
  if (!loaded) return <p className={styles.note}>Reading the types…</p>;
  return (
    <>
      {types.length === 0 && (
        <p className={styles.note}>
          You may not list anything in {namespace ?? "all namespaces"}. Choose a namespace that you
          may read{namespaces.length > 0 && `: ${namespaces.join(", ")}`}.
        </p>
      )}
      {failed.map(({ group, version, message }) => (
        <p key={`${group}/${version}`} className={styles.note} title={message}>
          The types of {group}/{version} are missing: its API server does not respond.
        </p>
      ))}
    </>
  );
}

/** Moves the focus by the arrow keys. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const stops = [
    ...event.currentTarget.querySelectorAll<HTMLElement>("input, a, button[aria-expanded]"),
  ];
  const next = stops[stops.indexOf(document.activeElement as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
