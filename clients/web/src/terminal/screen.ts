import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { Size } from "./shell.js";
import { styledDocument, withStyledElements } from "./styles.js";

/** What a screen reports to its shell. */
export interface ScreenListener {
  readonly onInput: (text: string) => void;
  readonly onResize: (size: Size) => void;
  /** Is called for the key with which the user leaves the terminal. */
  readonly onLeave: () => void;
}

/** The number of lines above the screen that are kept. */
const keptLines = 5_000;

/** A terminal in the page, as large as its element, in the colors of the page. */
export class Screen {
  readonly #terminal = new Terminal({
    documentOverride: styledDocument(),
    cursorBlink: false,
    fontFamily: property("--mono"),
    fontSize: 13,
    minimumContrastRatio: 4.5,
    scrollback: keptLines,
    theme: themeOfPage(),
  });
  readonly #fit = new FitAddon();
  readonly #observers: readonly { disconnect(): void }[];

  constructor(parent: HTMLElement, { onInput, onResize, onLeave }: ScreenListener) {
    const terminal = this.#terminal;
    terminal.loadAddon(this.#fit);
    withStyledElements(() => {
      terminal.open(parent);
    });
    this.#fit.fit();
    terminal.attachCustomKeyEventHandler((event) => {
      const isLeaving = event.ctrlKey && event.shiftKey && event.code === "KeyL";
      if (isLeaving && event.type === "keydown") {
        event.preventDefault();
        onLeave();
      }
      return !isLeaving;
    });
    terminal.onData(onInput);
    terminal.onResize(({ cols, rows }) => {
      onResize({ width: cols, height: rows });
    });
    const size = new ResizeObserver(() => {
      this.#fit.fit();
    });
    size.observe(parent);
    const theme = new MutationObserver(() => {
      terminal.options.theme = themeOfPage();
    });
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.#observers = [size, theme];
  }

  get size(): Size {
    return { width: this.#terminal.cols, height: this.#terminal.rows };
  }

  /** Shows output, and resolves when that has been shown. */
  write(data: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#terminal.write(data, resolve);
    });
  }

  /** Shows an empty screen. */
  reset(): void {
    this.#terminal.reset();
  }

  focus(): void {
    this.#terminal.focus();
  }

  close(): void {
    for (const observer of this.#observers) observer.disconnect();
    this.#terminal.dispose();
  }
}

function property(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Returns the colors of the page. Those of programs get the contrast that they need with these. */
function themeOfPage(): ITheme {
  return {
    background: property("--bg-sunken"),
    foreground: property("--text"),
    cursor: property("--accent"),
    cursorAccent: property("--bg-sunken"),
    selectionBackground: property("--bg-selected"),
    selectionForeground: property("--text"),
    scrollbarSliderBackground: property("--border"),
    scrollbarSliderHoverBackground: property("--border-strong"),
    scrollbarSliderActiveBackground: property("--border-strong"),
  };
}
