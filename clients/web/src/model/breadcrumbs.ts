import { noNamespace } from "./resource.js";

/** A part of the path to the shown view. The last one has no address. */
export interface Crumb {
  readonly label: string;
  readonly href?: string;
}

/** Returns the path to a view from its address. `label` is the text for a resource's name. */
export function breadcrumbs(
  pathname: string,
  label: (resource: string) => string,
): readonly Crumb[] {
  const [view, resource = "", namespace = "", name = ""] = pathname
    .split("/")
    .filter(Boolean)
    .map(decode);
  switch (view) {
    case undefined:
      return [{ label: "Overview" }];
    case "r":
      return [{ label: label(resource) }];
    case "o": {
      const table = `/r/${encodeURIComponent(resource)}`;
      const inNamespace = `${table}?ns=${encodeURIComponent(namespace)}`;
      return [
        { label: label(resource), href: table },
        ...(namespace === noNamespace ? [] : [{ label: namespace, href: inNamespace }]),
        { label: name },
      ];
    }
    case "logs":
      return [{ label: "Logs" }];
    case "service":
      return [{ label: "Service" }];
    default:
      return [{ label: "Not found" }];
  }
}

/** Decodes a part of an address; one that is not encoded correctly remains as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
