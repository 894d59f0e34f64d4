/** Returns cores as people say them: "250m", "1.5", "1,000". */
export function formatCpu(cores: number): string {
  if (cores === 0) return "0";
  if (cores < 1) return `${Math.max(1, Math.round(cores * 1000))}m`;
  return grouped(cores);
}

const units = ["B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Returns bytes with a binary unit: "128 Mi". */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${grouped(value)} ${units[unit] ?? ""}`;
}

/** Returns a number with at most three digits that say something, and groups of thousands. */
function grouped(value: number): string {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return Number(value.toFixed(digits)).toLocaleString("en");
}

/** Returns a part of a whole as a percentage: "3%", "<1%". Of nothing there is no part. */
export function formatShare(part: number, whole: number): string {
  if (whole <= 0) return "";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 1) return "<1%";
  return `${Math.round(percent)}%`;
}
