/** The type of suffix of a quantity: "12M", "12Mi" or "12e6". */
export type QuantityFormat = "decimal" | "binary" | "exponent";

/** An exact amount, as parsed by parseQuantity. */
export interface Quantity {
  /** The amount in units of 0.000000001, the smallest one of Kubernetes. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const pattern = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)?|[eE]([+-]?\d+))$/;

const decimals: ReadonlyMap<string, number> = new Map(
  ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, i) => [suffix, 3 * i - 9]),
);
const binaries = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const unit = 10n ** 9n;
const largestBinary = 2n ** 63n - 1n;
/** Kubernetes allows larger exponents, of numbers that fill the memory. */
const largestExponent = 1000;

/**
 * Parses a quantity, such as "500m", "1.5Gi", "1e3" or 2. The value is the one that Kubernetes uses:
 * fractions are rounded up to a multiple of 0.000000001, away from zero, and values with a binary
 * suffix are at most 2^63 - 1. Throws a RangeError for any other text, also for one without digits, such
 * as "Ki", and for an exponent beyond 1000.
 */
export function parseQuantity(quantity: string | number): Quantity {
  const text = String(quantity);
  const [matched, sign, whole = "", fraction = "", suffix = "", exponent] =
    pattern.exec(text) ?? [];
  if (matched === undefined || whole + fraction === "") {
    throw new RangeError(
      `${JSON.stringify(text)} is not a quantity, such as "500m", "1.5Gi" or "1e3"`,
    );
  }
  const power = Number(exponent ?? decimals.get(suffix) ?? 0);
  if (Math.abs(power) > largestExponent) {
    throw new RangeError(`the exponent of ${JSON.stringify(text)} is beyond ${largestExponent}`);
  }
  const factor = 1024n ** BigInt(Math.max(binaries.indexOf(suffix), 0));
  const nanos = nanosOf(BigInt(whole + fraction) * factor, power - fraction.length);
  const signed = (value: bigint) => (sign === "-" ? -value : value);
  if (exponent !== undefined) return { nanos: signed(nanos), format: "exponent" };
  if (suffix === "" || !suffix.endsWith("i")) return { nanos: signed(nanos), format: "decimal" };
  const largest = largestBinary * unit;
  const format = nanos > 0n && nanos < unit ? "decimal" : "binary";
  return { nanos: signed(nanos > largest ? largest : nanos), format };
}

/** Returns unscaled * 10^exponent in nanos, rounded up. */
function nanosOf(unscaled: bigint, exponent: number): bigint {
  const scale = exponent + 9;
  if (scale >= 0) return unscaled * 10n ** BigInt(scale);
  const divisor = 10n ** BigInt(-scale);
  return (unscaled + divisor - 1n) / divisor;
}

/**
 * Returns a quantity in the canonical form of Kubernetes: without fractions, and with the largest
 * possible suffix. "0.5Gi" becomes "512Mi".
 */
export function formatQuantity(quantity: Quantity | string | number): string {
  const { nanos, format } = parsed(quantity);
  if (nanos === 0n) return "0";
  const binary = format === "binary" ? formatBinary(nanos) : undefined;
  if (binary !== undefined) return binary;
  const zeros = /0*$/.exec(nanos.toString())?.[0].length ?? 0;
  const largest = format === "exponent" ? zeros : Math.min(zeros, 27);
  const power = largest - (largest % 3);
  const number = nanos / 10n ** BigInt(power);
  if (format === "exponent") return power === 9 ? `${number}` : `${number}e${power - 9}`;
  return `${number}${[...decimals.keys()][power / 3] ?? ""}`;
}

/** Returns the form with a binary suffix; undefined if it would have to be rounded or limited. */
function formatBinary(nanos: bigint): string | undefined {
  let number = nanos / unit;
  const size = number < 0n ? -number : number;
  if (nanos % unit !== 0n || size < 1024n || size > largestBinary) return undefined;
  let power = 0;
  for (; number % 1024n === 0n && power < binaries.length - 1; power++) number /= 1024n;
  return `${number}${binaries[power] ?? ""}`;
}

/**
 * Returns the sum of quantities, exactly. Its format is that of the first quantity that is not zero.
 */
export function addQuantities(...quantities: readonly (Quantity | string | number)[]): Quantity {
  const all = quantities.map(parsed);
  const format = (all.find(({ nanos }) => nanos !== 0n) ?? all[0])?.format ?? "decimal";
  return { nanos: all.reduce((sum, { nanos }) => sum + nanos, 0n), format };
}

/** Compares quantities, for sort: negative if the first one is smaller, 0 if they are equal. */
export function compareQuantities(
  a: Quantity | string | number,
  b: Quantity | string | number,
): number {
  const difference = parsed(a).nanos - parsed(b).nanos;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Returns the amount as a number, rounded to the precision of numbers: 0.5 for "500m". */
export function numberOf(quantity: Quantity | string | number): number {
  return Number(decimalOf(quantity));
}

/** Returns the amount as a decimal number in text, exactly: "0.5" for "500m". */
export function decimalOf(quantity: Quantity | string | number): string {
  const { nanos } = parsed(quantity);
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  return `${nanos < 0n ? "-" : ""}${digits.slice(0, -9)}${fraction && `.${fraction}`}`;
}

function parsed(quantity: Quantity | string | number): Quantity {
  return typeof quantity === "object" ? quantity : parseQuantity(quantity);
}
