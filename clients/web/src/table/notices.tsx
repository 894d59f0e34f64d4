import { Notice } from "../ui/notice.js";
import styles from "./table.module.css";

interface NoticesProps {
  readonly view: {
    readonly namespaces: readonly string[];
    readonly warnings: readonly string[];
    readonly loaded: boolean;
  };
  readonly notice: string;
}

const namesShown = 6;

/** What limits the table: namespaces that are not in it, and the service's warnings. */
export function Notices({ view: { namespaces, warnings }, notice }: NoticesProps) {
  const others = namespaces.length > 0 ? warnings.filter((text) => !isPartial(text)) : warnings;
  const isUncached = warnings.some((text) => isPartial(text) && text.includes("does not cache"));
  if (namespaces.length + others.length === 0 && !notice) return null;
  return (
    <div className={styles.notices}>
      {namespaces.length > 0 && (
        <Notice
          tone="warn"
          title={`Only the namespaces that ${isUncached ? "the service reads" : "you may list"}: ${shortened(namespaces)}`}
        >
          {isUncached && <p>Choose another namespace to read it at the API server.</p>}
        </Notice>
      )}
      {others.map((warning) => (
        <Notice key={warning} tone="warn" title={warning} />
      ))}
      {notice && <Notice title={notice} />}
    </div>
  );
}

function isPartial(warning: string): boolean {
  return warning.includes("namespaces");
}

function shortened(names: readonly string[]): string {
  const more = names.length - namesShown;
  return names.slice(0, namesShown).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
