// Written by "npx @kubeconnect/client types". Do not edit.

import type * as metav1 from "@kubeconnect/client/k8s/meta/v1";

declare module "@kubeconnect/client" {
  interface ResourceTypes {
    widgets: Widget;
    wd: Widget;
    "widgets.example.com": Widget;
  }
}

/**
 * A widget.
 *
 * See https://example.com *\/ export const injected = 1; /* for more.
 * \@ts-expect-error is text too.
 */
export type Widget = {
  apiVersion: "example.com/v1";
  kind: "Widget";
  metadata: metav1.StoredObjectMeta;
  /**
   * What the widget should be, in a description that is so long that it does
   * not fit into one line.
   */
  spec: WidgetSpec;
  status?: WidgetStatus;
};

/**
 * What the widget should be, in a description that is so long that it does not
 * fit into one line.
 */
export interface WidgetSpec {
  /** A number or a percentage. */
  size: metav1.IntOrString;
  "kebab-case": boolean;
  class?: string | null;
  mode?: "fast" | "slow";
  level?: 1 | 2 | -3;
  quoted?: "it's" | 'say "hi"' | "back\\slash" | "line\u000abreak";
  policy?:
    "RecreateEverything" | "RecreateNothing" | "RecreateWhatHasChanged" | "";
  policies?: WidgetSpecPoliciesItem[];
  ports?: WidgetSpecPort[];
  matrix?: number[][];
  labels?: Record<string, string>;
  limits?: Record<string, metav1.IntOrString | null>;
  backends?: Record<string, WidgetSpecBackendsValue>;
  selector?: metav1.LabelSelector;
  template?: Record<string, unknown>;
  any?: unknown;
  partly?: WidgetSpecPartly;
  owner?: Tree;
}

/** A port of a widget. */
export interface WidgetSpecPort {
  port: number;
  protocol?: string;
}

export interface WidgetSpecBackendsValue {
  weight?: number;
}

export interface WidgetSpecPartly {
  known?: string;
  [field: string]: unknown;
}

/** A tree. */
export interface Tree {
  children?: Tree[];
}

export type WidgetSpecPoliciesItem =
  "RecreateEverything" | "RecreateNothing" | "RecreateWhatHasChanged";

export interface WidgetStatus {
  conditions?: metav1.Condition[];
  observedAt?: string;
}
