/** What a line says about its importance; undefined if it says nothing. */
export type Level = "error" | "warn" | "info" | "debug";

const names: ReadonlyMap<string, Level> = new Map(
  Object.entries<Level>({
    emerg: "error",
    alert: "error",
    panic: "error",
    fatal: "error",
    crit: "error",
    critical: "error",
    severe: "error",
    error: "error",
    err: "error",
    dpanic: "error",
    warning: "warn",
    warn: "warn",
    wrn: "warn",
    notice: "info",
    info: "info",
    inf: "info",
    information: "info",
    debug: "debug",
    dbg: "debug",
    trace: "debug",
    verbose: "debug",
  }),
);

const klogLetters: Readonly<Record<string, Level>> = {
  I: "info",
  W: "warn",
  E: "error",
  F: "error",
};

/** klog: "E0102 15:04:05.000000       1 file.go:1] text". */
const klog = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
/** The field of JSON and of logfmt: `"level":"warn"`, `"level":40`, `level=warn`. */
const field = /(?:^|[\s{,"])(?:level|lvl|severity|log\.level|levelname)"?\s*[:=]\s*"?(\w+)/i;
/** A word in capitals, or a word in brackets, near the beginning of the line. */
const word =
  /(?:^|[^\w./-])(EMERG|ALERT|PANIC|FATAL|CRIT(?:ICAL)?|SEVERE|ERR(?:OR)?|WARN(?:ING)?|WRN|NOTICE|INFO?|DEBUG|DBG|TRACE)(?![\w./-])|\[(\w+)\]/;

/** How much of a line is searched for its level. */
const searchedLength = 300;
/** How much of a line is searched for words, which later in the line are part of its message. */
const wordLength = 80;

/** Returns the level that a line of a log states, in the notations that are common. */
export function levelOf(text: string): Level | undefined {
  const letter = klog.exec(text)?.[1];
  if (letter) return klogLetters[letter];
  const stated = field.exec(text.slice(0, searchedLength))?.[1];
  if (stated) return levelNumbered(Number(stated)) ?? names.get(stated.toLowerCase());
  const found = word.exec(text.slice(0, wordLength));
  const name = found?.[1] ?? found?.[2];
  return name ? names.get(name.toLowerCase()) : undefined;
}

/** Returns the level of a number as pino and bunyan write it: 30 is info. */
function levelNumbered(number: number): Level | undefined {
  if (!(number >= 10 && number <= 60)) return undefined;
  if (number >= 50) return "error";
  if (number >= 40) return "warn";
  return number >= 30 ? "info" : "debug";
}
