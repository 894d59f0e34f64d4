const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Returns a time of an object, in RFC 3339. Fractions below a millisecond are dropped. Throws a
 * RangeError for any other text.
 */
export function parseTime(text: string): Date {
  const time = new Date(rfc3339.test(text) ? text.toUpperCase() : NaN);
  if (Number.isNaN(time.getTime())) {
    throw new RangeError(`${JSON.stringify(text)} is not a time in RFC 3339`);
  }
  return time;
}

/** Returns the age of an object as kubectl prints it, such as "5d3h"; "<unknown>" without a time. */
export function ageOf(
  { metadata }: { readonly metadata: { readonly creationTimestamp?: string | undefined } },
  now: Date = new Date(),
): string {
  if (!metadata.creationTimestamp) return "<unknown>";
  return formatAge(now.getTime() - parseTime(metadata.creationTimestamp).getTime());
}

/**
 * Returns a duration as kubectl prints an age: "119s", "3m20s", "7h", "5d3h", "2y10d". Rounds down.
 * A negative one of two seconds or more, from clocks that differ, is "<invalid>".
 */
export function formatAge(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (!(seconds >= -1)) return "<invalid>";
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  return formatDays(Math.floor(hours / 24), hours % 24);
}

function formatDays(days: number, hours: number): string {
  if (days < 8) return twoUnits(days, "d", hours, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? twoUnits(years, "y", days % 365, "d") : `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large}${largeUnit}${small === 0 ? "" : `${small}${smallUnit}`}`;
}
