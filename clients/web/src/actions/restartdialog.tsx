import { useClient, useMutation } from "@kubeconnect/client/react";
import { targetOf } from "../model/target.js";
import { Confirm, type DialogProps } from "./confirm.js";
import { restart } from "./patches.js";

/** Says what a restart does, before it is done. */
export function RestartDialog({ object, onClose }: DialogProps) {
  const client = useClient();
  const { mutateAsync, pending, error } = useMutation(() => restart(client, targetOf(object)));
  return (
    <Confirm
      title={`Restart ${object.name}`}
      action="Restart"
      pending={pending}
      error={error}
      onConfirm={() => void mutateAsync().then(onClose, () => undefined)}
      onClose={onClose}
    >
      <p>
        All of its pods are replaced by new ones, as its update strategy says. Its template is not
        changed otherwise.
      </p>
    </Confirm>
  );
}
