import type { RefObject } from "react";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import styles from "./logs.module.css";

interface Props {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly query: string;
  readonly count: number;
  /** Which of the matches is the present one, from 1; 0 for none. */
  readonly place: number;
  readonly onQuery: (query: string) => void;
  readonly onStep: (direction: 1 | -1) => void;
}

/** The search within the lines that were read. */
export function SearchBar({ field, query, count, place, onQuery, onStep }: Props) {
  return (
    <div className={styles.search} role="search">
      <input
        ref={field}
        type="search"
        className={ui.field}
        aria-label="Search these lines"
        placeholder="Search these lines  /"
        value={query}
        onChange={(event) => {
          onQuery(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") onStep(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {query !== "" && (
        <>
          <Button
            aria-label="Previous match"
            disabled={count === 0}
            onClick={() => {
              onStep(-1);
            }}
          >
            ↑
          </Button>
          <Button
            aria-label="Next match"
            disabled={count === 0}
            onClick={() => {
              onStep(1);
            }}
          >
            ↓
          </Button>
          <span className={styles.count}>
            {place > 0 && `${place.toLocaleString()} of `}
            {count.toLocaleString()} {count === 1 ? "line" : "lines"}
          </span>
        </>
      )}
    </div>
  );
}
