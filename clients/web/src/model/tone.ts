/** What a state means: well, in need of attention, failed, in progress, or none of these. */
export type Tone = "ok" | "warn" | "bad" | "info" | "neutral";
