import { conditionTone } from "../model/summary/conditions.js";
import type { Condition } from "../model/summary/types.js";
import { Age } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import styles from "./object.module.css";

/** The conditions of an object of any kind. */
export function Conditions({ conditions }: { readonly conditions: readonly Condition[] }) {
  return (
    <section aria-labelledby="conditions">
      <h2 id="conditions">Conditions</h2>
      <div className={styles.scroll} role="region" aria-labelledby="conditions" tabIndex={0}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Status</th>
              <th scope="col">Reason</th>
              <th scope="col">Message</th>
              <th scope="col" className={styles.number}>
                Since
              </th>
            </tr>
          </thead>
          <tbody>
            {conditions.map((each) => (
              <tr key={each.type}>
                <th scope="row">{each.type}</th>
                <td>
                  <Chip tone={conditionTone(each)}>{each.status}</Chip>
                </td>
                <td>{each.reason}</td>
                <td className={styles.message}>{each.message}</td>
                <td className={styles.number}>
                  <Age since={each.lastTransitionTime ?? undefined} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
