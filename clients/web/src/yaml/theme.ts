import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The tokens of base.css are inherited by the shadow root, so that one theme is light and dark.
const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", color: "var(--text)", backgroundColor: "var(--bg)" },
  "&.cm-focused": { outline: "none" }, // the host has it: the gutter would cover a part of it
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--bg-sunken)",
    color: "var(--text-dim)",
    borderRight: "1px solid var(--border)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--bg-hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--bg-selected)" },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--bg-hover)",
    border: "1px solid var(--border-strong)",
    color: "var(--text-dim)",
  },
  ".cm-panels": {
    backgroundColor: "var(--bg-sunken)",
    color: "var(--text)",
    borderColor: "var(--border)",
  },
  ".cm-textfield, .cm-button": {
    border: "1px solid var(--border-strong)",
    borderRadius: "4px",
    background: "var(--bg-raised)",
    color: "var(--text)",
    font: "12px var(--sans)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--border-strong)",
    borderRadius: "6px",
    backgroundColor: "var(--bg-raised)",
    color: "var(--text)",
  },
  ".cm-tooltip.cm-completionInfo": {
    maxWidth: "420px",
    padding: "6px 10px",
    font: "12px var(--sans)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--bg-selected)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-dim)" },
  // The characters of CodeMirror are missing in many fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'↕' !important" },
  ".cm-searchMatch": { backgroundColor: "var(--changed)" },
  ".cm-changed": { backgroundColor: "var(--changed)" },
  ".cm-changedBy": { marginLeft: "2em", color: "var(--text-dim)", fontStyle: "italic" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-bg)", paddingLeft: "6px" },
  ".cm-changedLine, .cm-inlineChangedLine": { backgroundColor: "var(--ok-bg)" },
  ".cm-changedText, .cm-deletedText": {
    background: "none",
    textDecoration: "underline",
    textUnderlineOffset: "3px",
  },
  // CodeMirror marks problems by images with data: addresses, which the page's policy does not allow.
  ".cm-lintRange-error": wavy("var(--bad)"),
  ".cm-lintRange-warning": wavy("var(--warn)"),
  ".cm-lintRange-info, .cm-lintRange-hint": wavy("var(--info)"),
  ".cm-lint-marker-error": dot("var(--bad)"),
  ".cm-lint-marker-warning": dot("var(--warn)"),
  ".cm-lint-marker-info": dot("var(--info)"),
  ".cm-collapsedLines": {
    background: "var(--bg-sunken)",
    color: "var(--text-dim)",
    font: "12px var(--sans)",
  },
});

function wavy(color: string): Record<string, string> {
  return { backgroundImage: "none", textDecoration: `underline wavy ${color}` };
}

function dot(color: string): Record<string, string> {
  return { content: "normal", borderRadius: "50%", backgroundColor: color };
}

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.comment, color: "var(--text-dim)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: [tags.content, tags.attributeValue], color: "var(--text)" },
  { tag: [tags.punctuation, tags.separator], color: "var(--text-dim)" },
]);

/** The look of all editors. */
export const theme: Extension = [look, syntaxHighlighting(colors)];
