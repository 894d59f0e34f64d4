import { forceLinting, setDiagnostics } from "@codemirror/lint";
import type { KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { Compartment } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useCallback, useEffect, useMemo, useState } from "react";
import { parseDocument } from "yaml";
import { targetOf } from "../model/target.js";
import { readToChange } from "../session/managedfields.js";
import { Button } from "../ui/button.js";
import { Notice } from "../ui/notice.js";
import { Diverged } from "./diverged.js";
import { draftOf, keepDraft } from "./drafts.js";
import { basics, editing, Editor } from "./editor.js";
import { bySchema, diagnosticOf } from "./language.js";
import { divergence, rebase } from "./rebase.js";
import { Review } from "./review.js";
import { isStatusOnly, objectOf, submit, type Draft, type Outcome } from "./submit.js";
import { toYaml } from "./text.js";
import { useManaged } from "./usemanaged.js";
import { useSchema } from "./useschema.js";
import { problemsOfCauses, type Problem } from "./validate.js";
import styles from "./yaml.module.css";

/** Edits the YAML of an object: what the server would store is shown before it is applied. */
export function YamlEdit({
  live,
  isDeleted,
  onClose,
}: {
  readonly live: KubeObject;
  readonly isDeleted: boolean;
  readonly onClose: () => void;
}) {
  const client = useClient();
  const [draft, setDraft] = useState<Draft>(
    () => draftOf(client, live.uid) ?? { base: live, text: toYaml(live.value) },
  );
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState<string>();
  const [view, setView] = useState<EditorView>();
  const isChanged = draft.text !== toYaml(draft.base.value);
  const { uid } = live;
  useEffect(() => {
    keepDraft(client, uid, isChanged ? draft : undefined);
  }, [client, uid, draft, isChanged]);

  const onText = useCallback((text: string) => {
    setDraft((before) => ({ ...before, text }));
    setOutcome(undefined);
  }, []);
  const extensions = useExtensions(live, view, setProblems, onText);
  const replaceText = (next: Draft): void => {
    setDraft(next);
    const changes = { from: 0, to: view?.state.doc.length ?? 0, insert: next.text };
    view?.dispatch({ changes });
    setOutcome(undefined);
  };
  const send = async (dryRun: boolean): Promise<void> => {
    setBusy(dryRun ? "Asking the server what it would store…" : "Applying…");
    const result = await submit(client, draft, { dryRun });
    setBusy(undefined);
    if (result.is === "accepted" && !dryRun) {
      keepDraft(client, uid, undefined);
      onClose();
      return;
    }
    setOutcome(result);
    if (result.is === "rejected" && view) showCauses(view, result.error.causes);
  };

  if (outcome?.is === "accepted") {
    return (
      <Review
        outcome={outcome}
        busy={busy}
        onApply={() => void send(false)}
        onBack={() => {
          setOutcome(undefined);
        }}
      />
    );
  }
  const errors = problems.filter((each) => each.severity === "error");
  return (
    <div className={styles.tab}>
      <div className={styles.toolbar} role="group" aria-label="Edit">
        <Button
          look="primary"
          disabled={!isChanged || busy !== undefined || isDeleted || errors.length > 0}
          onClick={() => void send(true)}
        >
          Review changes
        </Button>
        <Button
          onClick={() => {
            keepDraft(client, uid, undefined);
            onClose();
          }}
        >
          {isChanged ? "Discard" : "Close"}
        </Button>
        <span className={styles.dim} role="status">
          {busy ?? (isChanged ? "Changed, not applied" : "Nothing is changed yet")}
        </span>
        <span className={styles.grow} />
        <span className={styles.dim}>
          <kbd>Ctrl</kbd> <kbd>Space</kbd> suggests fields
        </span>
      </div>
      {isDeleted && (
        <Notice tone="warn" title="The object was deleted while you were editing">
          Your text remains here. Copy it if you want to create the object again.
        </Notice>
      )}
      {outcome?.is === "diverged" ? (
        <Diverged
          divergence={outcome.divergence}
          onRebase={(takeTheirs) => {
            const text = rebase(draft.text, outcome.divergence, outcome.live.value, takeTheirs);
            replaceText({ base: outcome.live, text });
          }}
        />
      ) : (
        <LiveChanges draft={draft} live={live} onRebase={replaceText} />
      )}
      {outcome?.is === "rejected" && (
        <Notice tone="bad" title={outcome.error.message}>
          {outcome.error.fromService
            ? null
            : "Your text remains here. Try again when the service responds."}
        </Notice>
      )}
      <Editor
        label={`Edit ${live.name}`}
        text={draft.text}
        extensions={extensions}
        onView={setView}
      />
      <ProblemList problems={problems} view={view} />
    </div>
  );
}

/** What depends on the schema, which arrives later than the text. */
const language = new Compartment();

/** Returns the extensions of an editor, and completes and validates its text by the schema. */
function useExtensions(
  live: KubeObject,
  view: EditorView | undefined,
  onProblems: (problems: readonly Problem[]) => void,
  onText: (text: string) => void,
) {
  const schema = useSchema(targetOf(live).resource);
  useEffect(() => {
    if (!view) return;
    view.dispatch({ effects: language.reconfigure(bySchema(schema, onProblems)) });
    forceLinting(view);
  }, [view, schema, onProblems]);
  return useMemo(
    () => [
      basics,
      editing,
      language.of([]),
      EditorView.updateListener.of((change) => {
        if (change.docChanged) onText(change.state.doc.toString());
      }),
    ],
    [onText],
  );
}

function showCauses(view: EditorView, causes: Parameters<typeof problemsOfCauses>[1]): void {
  const text = view.state.doc.toString();
  const found = problemsOfCauses(parseDocument(text), causes);
  const diagnostics = found.map((each) => diagnosticOf(each, text.length));
  view.dispatch(setDiagnostics(view.state, diagnostics));
  const [first] = diagnostics;
  if (first) view.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "center" }) });
}

/** Says that others have changed the object since the editing began. */
function LiveChanges({
  draft,
  live,
  onRebase,
}: {
  readonly draft: Draft;
  readonly live: KubeObject;
  readonly onRebase: (draft: Draft) => void;
}) {
  const isOutdated = draft.base.resourceVersion !== live.resourceVersion;
  const value = useManaged(live, isOutdated, readToChange);
  const found = useMemo(() => {
    const mine = objectOf(draft.text);
    return mine && isOutdated ? divergence(draft.base.value, mine, value) : undefined;
  }, [draft, isOutdated, value]);
  if (!found || isStatusOnly(found)) return null;
  return (
    <Diverged
      divergence={found}
      onRebase={(takeTheirs) => {
        onRebase({ base: live, text: rebase(draft.text, found, live.value, takeTheirs) });
      }}
    />
  );
}

function ProblemList({
  problems,
  view,
}: {
  readonly problems: readonly Problem[];
  readonly view: EditorView | undefined;
}) {
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems} aria-label="Problems">
      {problems.slice(0, 20).map(({ from, message }) => (
        <li key={`${from} ${message}`}>
          <button
            type="button"
            onClick={() => {
              view?.dispatch({ selection: { anchor: from }, scrollIntoView: true });
              view?.focus();
            }}
          >
            {message}
          </button>
        </li>
      ))}
    </ul>
  );
}
