/** The two forms of selectors: of services, and of all other objects. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export type Labels = Readonly<Record<string, string>>;

/** Reports whether a service's selector selects the labels. An empty one selects nothing. */
export function serviceSelects(selector: Labels | undefined, labels: Labels): boolean {
  const pairs = Object.entries(selector ?? {});
  return pairs.length > 0 && pairs.every(([key, value]) => labels[key] === value);
}

/** Reports whether a selector with expressions selects the labels. An empty one selects all. */
export function labelsMatch(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isOne = value !== undefined && values.includes(value);
      return operator === "NotIn" ? !isOne : isOne;
    })
  );
}

/** Returns a selector in the notation of the API, for an address. */
export function selectorText(selector: LabelSelector): string {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "NotIn" ? "notin" : "in"} (${values.join(",")})`;
  });
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...labels, ...expressions].join(",");
}
