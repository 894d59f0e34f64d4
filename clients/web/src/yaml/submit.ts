import {
  Code,
  KubeconnectError,
  type Client,
  type KubeObject,
  type KubeValue,
} from "@kubeconnect/client";
import { parse } from "yaml";
import { targetOf } from "../model/target.js";
import { readToChange } from "../session/managedfields.js";
import { divergence, rebase, type Divergence } from "./rebase.js";

/** What has become of an edited text. */
export type Outcome =
  /** The API server accepts or has stored the object. */
  | {
      readonly is: "accepted";
      readonly object: KubeObject;
      readonly live: KubeObject;
      readonly warnings: readonly string[];
    }
  /** Others have changed the object meanwhile. Nothing was written. */
  | { readonly is: "diverged"; readonly divergence: Divergence; readonly live: KubeObject }
  | { readonly is: "rejected"; readonly error: KubeconnectError };

/** An edited text. */
export interface Draft {
  /** The object that the text was made of. */
  readonly base: KubeObject;
  readonly text: string;
}

/** The number of times that a write is repeated because the object's status has changed. */
const maxAttempts = 5;

/**
 * Asks the API server what it would store (`dryRun`), or stores it. Others' changes of the status
 * alone are taken over, because controllers change it all the time. Any other change by others is
 * reported, and nothing is written.
 */
export async function submit(
  client: Client,
  draft: Draft,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal?: AbortSignal },
): Promise<Outcome> {
  let { base } = draft;
  let body = draft.text;
  const { resource, ...name } = targetOf(draft.base);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        const options = { ...name, dryRun, fieldValidation: "strict", signal } as const;
        const { object, warnings } = await client.update(resource, body, options);
        return { is: "accepted", object, live: base, warnings };
      } catch (error) {
        const isConflict = KubeconnectError.from(error).code === Code.Aborted;
        if (!isConflict || attempt === maxAttempts) throw error;
        const live = await readToChange(client, { resource, ...name }, signal);
        const found = divergence(base.value, parse(body), live.value);
        if (live.uid !== draft.base.uid || !isStatusOnly(found)) {
          return { is: "diverged", divergence: found, live };
        }
        body = rebase(body, found, live.value);
        base = live;
      }
    }
  } catch (error) {
    return { is: "rejected", error: KubeconnectError.from(error) };
  }
}

/** Whether others have only changed what the editor's user does not decide. */
export function isStatusOnly({ others, conflicts }: Divergence): boolean {
  return conflicts.length === 0 && others.every(({ path }) => path[0] === "status");
}

/** Returns the text as an object; undefined if it is not one. */
export function objectOf(text: string): KubeValue | undefined {
  try {
    const value: unknown = parse(text);
    return typeof value === "object" && value !== null ? (value as KubeValue) : undefined;
  } catch {
    return undefined;
  }
}
