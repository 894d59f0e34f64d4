import type { KubeObject, KubeValue } from "@kubeconnect/client";
import type { EditorView } from "@codemirror/view";
import { openSearchPanel } from "@codemirror/search";
import { useEffect, useMemo, useState } from "react";
import { refusalOf } from "../model/refusal.js";
import { plural } from "../model/summary/types.js";
import { targetOf } from "../model/target.js";
import { useAccess } from "../session/access.js";
import { Button } from "../ui/button.js";
import { basics, Editor, viewing } from "./editor.js";
import { changesSince, marksOf } from "./livemarks.js";
import { marking, update } from "./marks.js";
import { decodedSecret, isSecret, toYaml, withoutSecrets } from "./text.js";
import { useManaged } from "./usemanaged.js";
import styles from "./yaml.module.css";

const extensions = [basics, viewing, marking];

/** The live YAML of an object, with what has changed since it was opened, and who changed it. */
export function YamlView({
  object,
  onEdit,
}: {
  readonly object: KubeObject;
  /** Undefined if the object does not exist any more. */
  readonly onEdit: (() => void) | undefined;
}) {
  const [managedFields, setManagedFields] = useState(false);
  const [areSecretsShown, setSecretsShown] = useState(false);
  const [opened, setOpened] = useState(object);
  const [view, setView] = useState<EditorView>();
  const hasSecrets = isSecret(object.value);
  const isHidden = hasSecrets && !areSecretsShown;
  const changes = useMemo(() => changesSince(opened.value, object.value), [opened, object]);
  const value = useManaged(object, managedFields || changes.length > 0);
  const text = useMemo(
    () => toYaml(isHidden ? withoutSecrets(value) : value, { managedFields }),
    [value, isHidden, managedFields],
  );
  useEffect(() => {
    if (view) update(view, text, marksOf(text, value, changes));
  }, [view, text, value, changes]);
  return (
    <div className={styles.tab}>
      <div className={styles.toolbar} role="group" aria-label="YAML">
        <EditButton object={object} onEdit={onEdit} />
        <Button
          onClick={() => {
            if (view) openSearchPanel(view);
          }}
        >
          Find
        </Button>
        <CopyButton text={text} />
        <Button
          onClick={() => {
            download(`${object.name}.yaml`, text);
          }}
        >
          Download
        </Button>
        <Toggle label="Managed fields" isOn={managedFields} onChange={setManagedFields} />
        {managedFields && !hasManagedFields(value) && (
          <span className={styles.dim}>The service does not keep them.</span>
        )}
        {hasSecrets && (
          <Toggle label="Show values" isOn={areSecretsShown} onChange={setSecretsShown} />
        )}
        <span className={styles.grow} />
        <span className={styles.dim} role="status">
          {changes.length > 0 && `${plural(changes.length, "change")} since you opened this`}
        </span>
        {changes.length > 0 && (
          <Button
            look="quiet"
            onClick={() => {
              setOpened(object);
            }}
          >
            Mark as seen
          </Button>
        )}
      </div>
      {hasSecrets && areSecretsShown && <DecodedValues object={object} />}
      <Editor
        label={`YAML of ${object.name}`}
        text={text}
        extensions={extensions}
        onView={setView}
      />
    </div>
  );
}

function hasManagedFields({ metadata }: KubeValue): boolean {
  return "managedFields" in metadata;
}

function EditButton({
  object,
  onEdit,
}: {
  readonly object: KubeObject;
  readonly onEdit: (() => void) | undefined;
}) {
  const checks = [{ verb: "update", ...targetOf(object) }];
  const { value: decisions } = useAccess(checks);
  if (!onEdit) return null;
  const refusal = decisions && refusalOf(checks, decisions);
  return (
    <>
      <Button
        look="primary"
        disabled={!decisions || refusal !== undefined}
        title={refusal}
        onClick={onEdit}
      >
        Edit
      </Button>
      {refusal && <span className={styles.dim}>{refusal}</span>}
    </>
  );
}

function CopyButton({ text }: { readonly text: string }) {
  const [result, setResult] = useState("Copy");
  return (
    <Button
      aria-live="polite"
      onClick={() => {
        navigator.clipboard.writeText(text).then(
          () => {
            setResult("Copied");
          },
          () => {
            setResult("The browser does not allow it");
          },
        );
      }}
      onBlur={() => {
        setResult("Copy");
      }}
    >
      {result}
    </Button>
  );
}

function Toggle({
  label,
  isOn,
  onChange,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <label className={styles.toggle}>
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => {
          onChange(event.target.checked);
        }}
      />
      {label}
    </label>
  );
}

/** The values of a secret as text: the YAML has them in base64. */
function DecodedValues({ object }: { readonly object: KubeObject }) {
  return (
    <details className={styles.decoded}>
      <summary>Decode the values</summary>
      <dl>
        {decodedSecret(object.value).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value === undefined ? <em>not text</em> : <code>{value}</code>}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** Saves a text as a file of the user. */
function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
