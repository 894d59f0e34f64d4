const escape = String.fromCharCode(0x1b);
const bell = String.fromCharCode(0x07);

/** Colors and cursor movements (CSI), titles and links (OSC), and other escape sequences. */
const sequences = new RegExp(
  [
    `${escape}\\[[0-?]*[ -/]*[@-~]`,
    `${escape}\\][^${bell}${escape}]*(?:${bell}|${escape}\\\\)`,
    `${escape}[ -/]*[0-~]`,
  ].join("|"),
  "g",
);

/** Control characters but the tab, and the characters that change the direction of text. */
const controls = /[^\P{Cc}\t]|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns the text without the escape sequences of terminals. What remains of control characters,
 * and characters that would reorder the text, is replaced by U+FFFD, so that a line cannot hide
 * what it says.
 */
export function plainText(text: string): string {
  return text.replace(sequences, "").replace(/\r$/, "").replace(controls, "\ufffd");
}
