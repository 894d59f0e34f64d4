import { KubeconnectError } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useRef, useState } from "react";
import type { Column } from "../model/columns/column.js";
import { Button } from "../ui/button.js";
import {
  exportLimits,
  exportObjects,
  saveFile,
  type ExportFormat,
  type ExportSource,
} from "./export.js";
import styles from "./table.module.css";

interface ExportPanelProps {
  readonly source: ExportSource;
  readonly columns: readonly Column[];
  readonly total: number;
}

const formats: readonly (readonly [ExportFormat, string, string])[] = [
  ["csv", "CSV: the visible columns", "text/csv"],
  ["yaml", "YAML: the whole objects", "application/yaml"],
];

/** The panel that saves the selected objects, or all objects of the table, as a file. */
export function ExportPanel({ source, columns, total }: ExportPanelProps) {
  const { run, cancel, progress, result } = useExport(source, columns);
  const selected = source.rows.length;
  const what = selected > 0 ? `${selected} selected` : `all ${total.toLocaleString("en")}`;
  return (
    <div className={styles.menu}>
      <p>Export {what}</p>
      {formats.map(([format, label, type]) => (
        <Button
          key={format}
          disabled={progress !== undefined || total + selected === 0}
          onClick={() => {
            run(format, type);
          }}
        >
          {label}
        </Button>
      ))}
      <p className={styles.dim}>
        At most {exportLimits.csv.toLocaleString("en")} objects as CSV, and{" "}
        {exportLimits.yaml.toLocaleString("en")} as YAML.
      </p>
      {progress !== undefined && (
        <>
          <progress max={selected || total} value={progress} aria-label="Exported objects" />
          <Button onClick={cancel}>Cancel</Button>
        </>
      )}
      <p role="status">{progress === undefined ? result : `${progress} read…`}</p>
    </div>
  );
}

function useExport(source: ExportSource, columns: readonly Column[]) {
  const client = useClient();
  const [progress, setProgress] = useState<number>();
  const [result, setResult] = useState("");
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const run = (format: ExportFormat, type: string) => {
    const leaving = (running.current = new AbortController());
    setProgress(0);
    const report = (count: number) => {
      if (count % 250 === 0 || source.rows.length > 0) setProgress(count);
    };
    exportObjects(client, source, format, columns, report, leaving.signal)
      .then(
        ({ text, count, isCut }) => {
          saveFile(`${source.resource}.${format}`, type, text);
          setResult(isCut ? `Saved the first ${count}: there are more.` : `Saved ${count}.`);
        },
        (error: unknown) => {
          const { message } = KubeconnectError.from(error);
          setResult(leaving.signal.aborted ? "Cancelled." : `Not saved: ${message}`);
        },
      )
      .finally(() => {
        setProgress(undefined);
      });
  };
  const cancel = () => running.current?.abort();
  return { run, cancel, progress, result };
}
