import { Code, type KubeconnectError } from "@kubeconnect/client";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { filterErrorOf, type FilterError } from "../model/cel.js";
import { completeCel, type Completions } from "../model/celcomplete.js";
import { fieldsOf } from "../model/columns/column.js";
import { useLoaded } from "../session/useloaded.js";
import ui from "../ui/ui.module.css";
import styles from "./table.module.css";
import { useText } from "./textinput.js";

interface FilterInputProps {
  readonly resource: string;
  readonly value: string;
  readonly onChange: (filter: string | undefined) => void;
  /** Why the table cannot be read, which may be this filter. */
  readonly error: KubeconnectError | undefined;
}

const noCompletions: Completions = { from: 0, options: [] };

/** The input for a filter in CEL, with completion by the schema, and the service's errors. */
export function FilterInput({ resource, value, onChange, error }: FilterInputProps) {
  const [text, setText] = useText(value);
  const [completions, setCompletions] = useState(noCompletions);
  const [chosen, setChosen] = useState(0);
  const [isTouched, setTouched] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const schema = useSchema(resource, isTouched);
  const filterError = useFilterError(resource, value, error);

  const complete = (next: string) => {
    const at = input.current?.selectionStart ?? next.length;
    setCompletions(schema ? completeCel(next, at, schema) : noCompletions);
    setChosen(0);
  };
  const insert = (index: number) => {
    const option = completions.options[index];
    if (!option) return;
    const at = input.current?.selectionStart ?? text.length;
    const place = completions.from + option.text.length;
    setText(text.slice(0, completions.from) + option.text + text.slice(at));
    setCompletions(noCompletions);
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(place, place);
    });
  };
  const apply = () => {
    setCompletions(noCompletions);
    onChange(text.trim() || undefined);
  };
  const isOpen = completions.options.length > 0;
  const onKeyDown = (event: KeyboardEvent) => {
    const count = completions.options.length;
    if (event.key === "Enter") apply();
    else if (event.key === "Escape" && isOpen) setCompletions(noCompletions);
    else if (event.key === "Escape") input.current?.blur();
    else if (event.key === " " && event.ctrlKey) complete(text);
    else if (event.key === "ArrowDown" && isOpen) setChosen((chosen + 1) % count);
    else if (event.key === "ArrowUp" && isOpen) setChosen((chosen + count - 1) % count);
    else if (event.key === "Tab" && isOpen) insert(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.filter}>
      <input
        ref={input}
        className={`${ui.field} ${styles.filterField}`}
        role="combobox"
        aria-label="Filter in CEL"
        aria-expanded={isOpen}
        aria-controls={`${id}options`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen ? `${id}${chosen}` : undefined}
        aria-invalid={filterError !== undefined}
        aria-describedby={filterError ? `${id}error` : undefined}
        placeholder='CEL filter: object.metadata.name.startsWith("web")'
        spellCheck={false}
        autoComplete="off"
        value={text}
        onFocus={() => {
          setTouched(true);
        }}
        onChange={(event) => {
          setText(event.target.value);
          complete(event.target.value);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => {
          setCompletions(noCompletions);
          if (text.trim() !== value) apply();
        }}
      />
      <ul id={`${id}options`} role="listbox" aria-label="Completions" hidden={!isOpen}>
        {completions.options.map((option, index) => (
          <li
            key={option.text}
            id={`${id}${index}`}
            role="option"
            aria-selected={index === chosen}
            ref={(element) => {
              if (element && index === chosen && isOpen)
                element.scrollIntoView({ block: "nearest" });
            }}
            onMouseDown={(event) => {
              event.preventDefault();
              insert(index);
            }}
          >
            <code>{option.text}</code>
            <span>{option.detail}</span>
          </li>
        ))}
      </ul>
      {filterError && <ErrorPlace id={`${id}error`} filter={value} error={filterError} />}
    </div>
  );
}

/** Shows the service's message, and marks the place in the filter. */
function ErrorPlace({
  id,
  filter,
  error: { message, offset },
}: {
  readonly id: string;
  readonly filter: string;
  readonly error: FilterError;
}) {
  return (
    <div id={id} role="alert" className={styles.filterError}>
      {offset !== undefined && (
        <code>
          {filter.slice(0, offset)}
          <mark>{filter.charAt(offset) || "\u00a0"}</mark>
          {filter.slice(offset + 1)}
        </code>
      )}
      <span>
        {offset !== undefined && `At character ${offset + 1}: `}
        {message}
      </span>
    </div>
  );
}

/** Returns the schema of a resource, as soon as it is needed. */
function useSchema(resource: string, isNeeded: boolean) {
  const { value } = useLoaded(isNeeded ? resource : undefined, (client, signal) =>
    client.schema(resource, { signal }),
  );
  return value && fieldsOf(value.schema);
}

/**
 * Returns what is wrong with a filter. The table is read with other filters, too, so that the
 * service is asked about this one alone: the places in its message are then those of the input.
 */
function useFilterError(
  resource: string,
  filter: string,
  error: KubeconnectError | undefined,
): FilterError | undefined {
  const isDoubtful = filter !== "" && error?.code === Code.InvalidArgument;
  const question = isDoubtful ? `${resource} ${filter}` : undefined;
  const { error: found } = useLoaded(question, (client, signal) => {
    const options = { filter, pageSize: 1, fields: ["metadata.name"], signal };
    return client.list(resource, options).pages().next();
  });
  return found?.code === Code.InvalidArgument ? filterErrorOf(found.message, filter) : undefined;
}
