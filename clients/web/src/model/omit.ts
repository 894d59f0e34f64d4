/** Returns a copy of an object without some of its fields. */
export function omit<T extends object, K extends keyof T>(value: T, ...names: K[]): Omit<T, K> {
  const kept = Object.entries(value).filter(([name]) => !names.includes(name as K));
  return Object.fromEntries(kept) as Omit<T, K>;
}
