import { useMemo } from "react";
import { omit } from "../model/omit.js";
import { Button } from "../ui/button.js";
import { Notice } from "../ui/notice.js";
import { isEqual } from "./changes.js";
import { Diff } from "./diff.js";
import type { Outcome } from "./submit.js";
import { toYaml } from "./text.js";
import styles from "./yaml.module.css";

/** Shows what the server would store, compared with what is stored, before it is applied. */
export function Review({
  outcome: { object, live, warnings },
  busy,
  onApply,
  onBack,
}: {
  readonly outcome: Extract<Outcome, { is: "accepted" }>;
  readonly busy: string | undefined;
  readonly onApply: () => void;
  readonly onBack: () => void;
}) {
  const texts = useMemo(
    () => ({ before: toYaml(comparable(live.value)), after: toYaml(comparable(object.value)) }),
    [live, object],
  );
  const isSame = isEqual(texts.before, texts.after);
  return (
    <div className={styles.tab}>
      <div className={styles.toolbar} role="group" aria-label="Review">
        <Button look="primary" disabled={isSame || busy !== undefined} onClick={onApply}>
          Apply
        </Button>
        <Button onClick={onBack}>Back to the editor</Button>
        <span className={styles.dim} role="status">
          {busy ??
            (isSame
              ? "The server would store the object as it is."
              : "This is what the server would store, with its defaults.")}
        </span>
      </div>
      {warnings.map((each) => (
        <Notice key={each} tone="warn" title={each} />
      ))}
      <Diff label="What the server would store" before={texts.before} after={texts.after} />
    </div>
  );
}

/** Returns an object without the fields that each write changes. */
function comparable({ metadata, ...rest }: KubeValueOf): object {
  const shown = omit(metadata as Bookkept, "resourceVersion", "generation");
  return { ...rest, metadata: shown };
}

type KubeValueOf = Extract<Outcome, { is: "accepted" }>["object"]["value"];
type Bookkept = KubeValueOf["metadata"] & { generation?: number };
