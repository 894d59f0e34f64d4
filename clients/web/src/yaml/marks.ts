import { diff } from "@codemirror/merge";
import {
  StateEffect,
  StateField,
  type ChangeSpec,
  type Extension,
  type Text,
} from "@codemirror/state";
import { Decoration, EditorView, WidgetType, type DecorationSet } from "@codemirror/view";

/** A line that has changed, and the manager that changed it. */
export interface Mark {
  /** An offset in the line. */
  readonly at: number;
  readonly text: string;
}

const setMarks = StateEffect.define<readonly Mark[]>();

/** The text behind a changed line. */
class ChangedBy extends WidgetType {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  override eq(other: ChangedBy): boolean {
    return other.#text === this.#text;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.className = "cm-changedBy";
    element.textContent = this.#text;
    return element;
  }
}

function decorate(doc: Text, marks: readonly Mark[]): DecorationSet {
  const byLine = new Map(
    marks.map((each) => [doc.lineAt(Math.min(each.at, doc.length)).number, each]),
  );
  const ranges = [...byLine].flatMap(([number, { text }]) => {
    const { from, to } = doc.line(number);
    return [
      Decoration.line({ class: "cm-changed" }).range(from),
      Decoration.widget({ widget: new ChangedBy(text), side: 1 }).range(to),
    ];
  });
  return Decoration.set(ranges, true);
}

/** Shows the marks that `update` sets. */
export const marking: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (shown, { changes, effects, newDoc }) => {
    const next = effects.find((each) => each.is(setMarks));
    return next ? decorate(newDoc, next.value) : shown.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Shows a text with marks. Only what differs is replaced, so that folds and the place remain. */
export function update(view: EditorView, text: string, marks: readonly Mark[]): void {
  const shown = view.state.doc.toString();
  const changes: ChangeSpec[] =
    shown === text
      ? []
      : diff(shown, text, { scanLimit: 500 }).map(({ fromA, toA, fromB, toB }) => ({
          from: fromA,
          to: toA,
          insert: text.slice(fromB, toB),
        }));
  view.dispatch({ changes, effects: setMarks.of(marks) });
}
