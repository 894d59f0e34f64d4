const name = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/;
const value = /^([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?$/;

/** Reports whether a text is the name of a label, with or without a prefix. */
export function isLabelName(text: string): boolean {
  return name.test(text);
}

/** Reports whether a text is the value of a label, which can be empty. */
export function isLabelValue(text: string): boolean {
  return value.test(text);
}
