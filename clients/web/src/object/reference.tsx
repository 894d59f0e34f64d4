import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { objectParams } from "../model/resource.js";
import type { Reference } from "../model/summary/types.js";

/** A link to the page of an object. */
export function ObjectLink({
  to: { resource, ...name },
  children,
}: {
  readonly to: Reference;
  readonly children?: ReactNode;
}) {
  return (
    <Link to="/o/$resource/$namespace/$name" params={objectParams(resource, name)}>
      {children ?? name.name}
    </Link>
  );
}
