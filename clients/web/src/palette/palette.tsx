import { useRouter } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { fuzzyMatch } from "../model/fuzzy.js";
import { groupTypes } from "../model/types.js";
import { useCatalog } from "../session/catalog.js";
import { useNamespaces } from "../session/namespaces.js";
import { useActions, useNamespaceEntries } from "./actions.js";
import { objectEntry, sectionsFor, typeEntry, type Entry, type Section } from "./entries.js";
import styles from "./palette.module.css";
import { useRecent } from "./recent.js";
import { useObjects } from "./useobjects.js";

interface Props {
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

/** The dialog to go to anything by its name, and to do anything that the page can do. */
export function Palette({ onClose, onHelp }: Props) {
  const router = useRouter();
  const [text, setText] = useState("");
  const [recent, addRecent] = useRecent();
  const { objects, isSearching, error } = useObjects(text);
  const sections = sectionsFor(text, {
    recent,
    types: groupTypes(useCatalog().types).flatMap(({ types }) => types.map(typeEntry)),
    namespaces: useNamespaceEntries(useNamespaces().names),
    actions: useActions(onHelp),
    objects: objects.map(objectEntry),
  });
  const choose = (entry: Entry): void => {
    addRecent(entry);
    onClose();
    if ("href" in entry.does) void router.navigate({ href: entry.does.href });
    else entry.does.action();
  };
  const found = sections.reduce((sum, { entries }) => sum + entries.length, 0);
  return (
    <PaletteDialog onClose={onClose}>
      <Combobox text={text} onText={setText} sections={sections} onChoose={choose} />
      <p className={styles.status} role="status">
        {statusText(found, isSearching, error)}
      </p>
    </PaletteDialog>
  );
}

function statusText(found: number, isSearching: boolean, error: string | undefined): string {
  if (isSearching) return "Searching for objects…";
  if (error) return `Some objects cannot be searched: ${error}`;
  return found === 0 ? "Nothing has this name." : `${found} found`;
}

function PaletteDialog({
  onClose,
  children,
}: {
  readonly onClose: () => void;
  readonly children: React.ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={styles.dialog}
      aria-label="Go to"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}

interface ComboboxProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly sections: readonly Section[];
  readonly onChoose: (entry: Entry) => void;
}

/** The field and the list below it. The focus stays in the field, the arrow keys move the choice. */
function Combobox({ text, onText, sections, onChoose }: ComboboxProps) {
  const id = useId();
  const [activeId, setActiveId] = useState<string>();
  const entries = sections.flatMap((section) => section.entries);
  const active = entries.find((entry) => entry.id === activeId) ?? entries[0];
  const optionId = (entry: Entry): string => `${id}-${entries.indexOf(entry)}`;
  const activeOption = active && optionId(active);
  useEffect(() => {
    if (activeOption) document.getElementById(activeOption)?.scrollIntoView({ block: "nearest" });
  }, [activeOption]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && active) onChoose(active);
    else if (step !== undefined && active) {
      const next = (entries.indexOf(active) + step + entries.length) % entries.length;
      setActiveId(entries[next]?.id);
    } else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        className={styles.input}
        role="combobox"
        aria-label="Go to a type, a namespace, an object, or do an action"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={activeOption}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        placeholder="Type a name, or “pods web”"
        value={text}
        onChange={(event) => {
          onText(event.target.value);
          setActiveId(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} role="listbox" aria-label="Found" className={styles.list}>
        {sections.map(({ title, entries }) => (
          <div key={title} role="group" aria-label={title}>
            <div className={styles.title} aria-hidden="true">
              {title}
            </div>
            {entries.map((entry) => (
              <div
                key={entry.id}
                id={optionId(entry)}
                role="option"
                aria-selected={entry === active}
                className={styles.option}
                onPointerMove={() => {
                  setActiveId(entry.id);
                }}
                onClick={() => {
                  onChoose(entry);
                }}
              >
                <Highlighted text={entry.label} query={text.trim().split(/\s+/).at(-1) ?? ""} />
                <span className={styles.hint}>{entry.hint}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

/** A text with the typed characters marked. */
function Highlighted({ text, query }: { readonly text: string; readonly query: string }) {
  const marked = new Set(fuzzyMatch(query, text)?.positions);
  return (
    <span className={styles.label}>
      {text
        .split("")
        .map((character, index) =>
          marked.has(index) ? <b key={index}>{character}</b> : character,
        )}
    </span>
  );
}
