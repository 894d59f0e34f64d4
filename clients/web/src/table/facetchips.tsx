import type { Selection } from "@kubeconnect/client";
import { useCount } from "@kubeconnect/client/react";
import { facetCounts, type Facet } from "../model/facet.js";
import styles from "./table.module.css";

interface FacetChipsProps {
  readonly resource: string;
  readonly facet: Facet;
  /** The selection of the table without the facet, so that the other values remain counted. */
  readonly selection: Selection;
  readonly selected: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

/** The quick filter: the values of a facet with their live counts. */
export function FacetChips({ resource, facet, selection, selected, onChange }: FacetChipsProps) {
  const { groupBy } = facet;
  const { groups } = useCount(resource, { ...selection, groupBy, keepPrevious: true });
  const counts = facetCounts(facet, groups, selected);
  return (
    <div role="group" aria-label={facet.title} className={styles.facets}>
      {counts.map(({ id, label, tone, count }) => {
        const isSelected = selected.includes(id);
        return (
          <button
            key={id}
            type="button"
            className={styles.facet}
            data-tone={tone}
            aria-pressed={isSelected}
            onClick={() => {
              onChange(isSelected ? selected.filter((each) => each !== id) : [...selected, id]);
            }}
          >
            <span className={styles.dot} aria-hidden />
            {label} <b>{count.toLocaleString("en")}</b>
          </button>
        );
      })}
    </div>
  );
}
