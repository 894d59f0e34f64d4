/** An integer or a text, such as the number or the name of a port, or a percentage. */
export type IntOrString = number | string;

/** Returns a text as an integer if it is one of 32 bits, as kubectl does. */
export function parseIntOrString(text: string): IntOrString {
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : NaN;
  return (number | 0) === number ? number | 0 : text;
}

/**
 * Returns a number, or a percentage of a total, such as maxUnavailable of a number of replicas. Kubernetes
 * rounds maxSurge up and maxUnavailable down. Throws a RangeError for any other text.
 */
export function scaledValue(value: IntOrString, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value;
  const [, percent] = /^([+-]?\d+)%$/.exec(value) ?? [];
  if (percent === undefined) {
    throw new RangeError(`${JSON.stringify(value)} is neither a number nor a percentage`);
  }
  const scaled = (Number(percent) * total) / 100;
  return round === "up" ? Math.ceil(scaled) : Math.floor(scaled);
}
