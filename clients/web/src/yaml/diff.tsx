import { unifiedMergeView } from "@codemirror/merge";
import { useMemo } from "react";
import { basics, Editor, viewing } from "./editor.js";

/** The differences between two texts, in one column. */
export function Diff({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}) {
  const extensions = useMemo(
    () => [
      basics,
      viewing,
      unifiedMergeView({
        original: before,
        mergeControls: false,
        syntaxHighlightDeletions: true,
        collapseUnchanged: { margin: 3, minSize: 6 },
      }),
    ],
    [before],
  );
  return <Editor key={after} label={label} text={after} extensions={extensions} />;
}
