import styles from "./logs.module.css";

interface Props {
  readonly sources: readonly string[];
  readonly labels: ReadonlyMap<string, string>;
  readonly colors: ReadonlyMap<string, number>;
  readonly hidden: ReadonlySet<string>;
  readonly onHidden: (hidden: ReadonlySet<string>) => void;
}

/** The containers with their colors. A click hides the lines of one, or shows them again. */
export function Legend({ sources, labels, colors, hidden, onHidden }: Props) {
  const toggle = (source: string) => {
    const next = new Set(hidden);
    if (!next.delete(source)) next.add(source);
    onHidden(next);
  };
  return (
    <ul className={styles.legend} aria-label="Containers">
      {sources.map((source) => (
        <li key={source}>
          <button
            type="button"
            className={styles.source}
            title={source}
            aria-pressed={!hidden.has(source)}
            onClick={() => {
              toggle(source);
            }}
          >
            <span className={styles.dot} data-color={colors.get(source)} aria-hidden="true" />
            {labels.get(source)}
          </button>
        </li>
      ))}
    </ul>
  );
}
