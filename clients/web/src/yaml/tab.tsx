import type { KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useState } from "react";
import { draftOf } from "./drafts.js";
import { YamlEdit } from "./edit.js";
import { YamlView } from "./view.js";

/** The YAML of an object: live, and edited on demand. */
export function YamlTab({
  object,
  isDeleted = false,
}: {
  readonly object: KubeObject;
  readonly isDeleted?: boolean;
}) {
  const client = useClient();
  const [isEditing, setEditing] = useState(() => draftOf(client, object.uid) !== undefined);
  return isEditing ? (
    <YamlEdit
      key={object.uid}
      live={object}
      isDeleted={isDeleted}
      onClose={() => {
        setEditing(false);
      }}
    />
  ) : (
    <YamlView
      key={object.uid}
      object={object}
      onEdit={
        isDeleted
          ? undefined
          : () => {
              setEditing(true);
            }
      }
    />
  );
}
