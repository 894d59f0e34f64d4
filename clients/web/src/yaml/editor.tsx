import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { codeFolding, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { theme } from "./theme.js";
import styles from "./yaml.module.css";

/** What all editors and views of YAML have. */
export const basics: Extension = [
  EditorView.lineWrapping, // a text that scrolls sideways hides its indentation
  lineNumbers(),
  foldGutter(),
  codeFolding(),
  search({ top: true }),
  highlightSelectionMatches(),
  yaml(),
  theme,
];

/** What an editor has, and a view has not. */
export const editing: Extension = [
  EditorView.contentAttributes.of({ tabindex: "0" }),
  history(),
  drawSelection(),
  indentOnInput(),
  keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...searchKeymap]),
];

/** A text that can be focused, searched and folded, and not be changed. */
export const viewing: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ tabindex: "0", "aria-readonly": "true" }),
  keymap.of([...foldKeymap, ...searchKeymap]),
];

interface Props {
  /** The name for screen readers. */
  readonly label: string;
  /** The first text; later changes are made in the view. */
  readonly text: string;
  /** Must be the same object in each render, or the editor is created again. */
  readonly extensions: Extension;
  /** Called with the view when it has been made. */
  readonly onView?: ((view: EditorView) => void) | undefined;
}

/**
 * An editor of CodeMirror. It is in a shadow root, where CodeMirror uses constructed style sheets:
 * the Content-Security-Policy allows no style elements.
 */
export function Editor({ label, text, extensions, onView }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const first = useRef({ text, label, onView });
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const { text, label, onView } = first.current;
    const view = new EditorView({
      doc: text,
      extensions: [extensions, EditorView.contentAttributes.of({ "aria-label": label })],
      parent: root,
      root,
    });
    onView?.(view);
    return () => {
      view.destroy();
    };
  }, [extensions]);
  return <div ref={host} className={styles.editor} />;
}
