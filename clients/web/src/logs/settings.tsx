import { useId, useState, type ReactNode } from "react";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import type { LogQuery } from "./feed.js";
import styles from "./logs.module.css";

/** What the user has chosen: which lines are read, and how they are shown. */
export interface LogSettings {
  /** The container to read; undefined for all of them. */
  readonly container: string | undefined;
  readonly previous: boolean;
  /** Seconds; empty for all lines. */
  readonly since: string;
  /** The number of lines of each container to begin with; empty for all. */
  readonly tail: string;
  /** What lines must contain, or match; empty for all lines. */
  readonly filter: string;
  readonly isRegex: boolean;
  /** The number of lines to show around each line that matches. */
  readonly context: string;
  readonly wrap: boolean;
  readonly times: boolean;
}

export const defaultSettings: LogSettings = {
  container: undefined,
  previous: false,
  since: "",
  tail: "1000",
  filter: "",
  isRegex: false,
  context: "0",
  wrap: false,
  times: true,
};

/** Returns what to ask of the service. */
export function queryOf(pods: LogQuery, settings: LogSettings): LogQuery {
  const { container, previous, since, tail, filter, isRegex } = settings;
  const around = Number(settings.context);
  const lines = { ignoreCase: true, beforeLines: around, afterLines: around };
  return {
    ...pods,
    maxLogs: 128,
    ...(container && { container: quoted(container) }),
    ...(previous ? { previous } : { follow: true }),
    ...(since && { sinceSeconds: Number(since) }),
    ...(tail && { tailLines: Number(tail) }),
    ...(filter && { lineFilter: { [isRegex ? "regex" : "contains"]: filter, ...lines } }),
  };
}

/** Returns a regular expression that matches only the name. */
function quoted(name: string): string {
  return name.replaceAll(".", "\\.");
}

interface Props {
  readonly settings: LogSettings;
  readonly containers: readonly string[];
  readonly onChange: (settings: LogSettings) => void;
  readonly children: ReactNode;
}

/** The choices of which lines to read and how to show them. The children are further buttons. */
export function Settings({ settings, containers, onChange, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const change = (changed: Partial<LogSettings>) => {
    onChange({ ...settings, ...changed });
  };
  return (
    <div className={styles.bar} role="toolbar" aria-label="Lines to read">
      <Button
        className={styles.more}
        aria-expanded={isOpen}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        Options
      </Button>
      <div className={styles.options} data-open={isOpen}>
        {containers.length > 1 && (
          <Choice
            label="Container"
            value={settings.container ?? ""}
            options={[["", "all"], ...containers.map((name): [string, string] => [name, name])]}
            onChange={(container) => {
              change({ container: container || undefined });
            }}
          />
        )}
        <Choice
          label="Since"
          value={settings.since}
          options={sinceOptions}
          onChange={(since) => {
            change({ since });
          }}
        />
        <Choice
          label="Tail"
          value={settings.tail}
          options={tailOptions}
          onChange={(tail) => {
            change({ tail });
          }}
        />
        <Filter settings={settings} onChange={change} />
        <Toggle
          label="Previous run"
          checked={settings.previous}
          onChange={(previous) => {
            change({ previous });
          }}
        />
        <Toggle
          label="Wrap"
          checked={settings.wrap}
          onChange={(wrap) => {
            change({ wrap });
          }}
        />
        <Toggle
          label="Times"
          checked={settings.times}
          onChange={(times) => {
            change({ times });
          }}
        />
      </div>
      <span className={styles.grow} />
      {children}
    </div>
  );
}

const sinceOptions: readonly [string, string][] = [
  ["300", "5 min"],
  ["900", "15 min"],
  ["3600", "1 hour"],
  ["", "all"],
];

const tailOptions: readonly [string, string][] = [
  ["100", "100"],
  ["1000", "1,000"],
  ["10000", "10,000"],
  ["", "all"],
];

/** The filter that the service applies, so that only lines that match are sent. */
function Filter({
  settings: { filter, isRegex, context },
  onChange,
}: {
  readonly settings: LogSettings;
  readonly onChange: (changed: Partial<LogSettings>) => void;
}) {
  const [text, setText] = useState(filter);
  return (
    <form
      className={styles.filter}
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ filter: text });
      }}
    >
      <input
        className={ui.field}
        aria-label="Read only lines with"
        placeholder={isRegex ? "Only lines that match…" : "Only lines with…"}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") onChange({ filter: "" });
        }}
      />
      <Toggle
        label="Regex"
        checked={isRegex}
        onChange={(checked) => {
          onChange({ isRegex: checked });
        }}
      />
      {filter && (
        <Choice
          label="Lines around"
          value={context}
          options={contextOptions}
          onChange={(lines) => {
            onChange({ context: lines });
          }}
        />
      )}
      {text !== filter && <Button type="submit">Apply</Button>}
    </form>
  );
}

const contextOptions: readonly [string, string][] = ["0", "2", "5", "20"].map((n) => [n, n]);

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly [string, string][];
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <span className={styles.choice}>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className={ui.field}
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}

function Toggle({
  label,
  checked,
  onChange,
}: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label className={styles.toggle}>
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => {
          onChange(event.target.checked);
        }}
      />
      {label}
    </label>
  );
}
