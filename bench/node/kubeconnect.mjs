/** The tasks of kubeconnect. */
import { readFileSync } from "node:fs";
import { connect } from "../../clients/ts/dist/node.js";
import { CHANGED } from "./task.mjs";

/**
 * Returns the tasks, with options of all reads.
 *
 * @param {{ fields?: string[] }} options
 * @returns {import("./task.mjs").Program}
 */
export function kubeconnect(options) {
  return {
    connect: ({ address, caFile }) => connect(address, { tls: { ca: readFileSync(caFile) } }),

    async listPods(client, namespace) {
      const pods = [];
      for await (const pod of client.list("pods", { namespace, ...options })) pods.push(read(pod));
      return pods;
    },

    async watchPods(client, namespace, onPod) {
      for await (const event of client.watch("pods", { namespace, ...options })) {
        if (event.object) onPod(read(event.object));
      }
    },

    storePods(client, namespace, onAdd, onChange) {
      const store = client.store("pods", { namespace, ...options });
      store.changes(({ added, modified }) => {
        for (const pod of added) onAdd(pod.value.spec.nodeName);
        for (const pod of modified) onChange(pod.value.spec.nodeName);
      });
      return () => store.list().map(read);
    },
  };
}

/** Reads a pod. */
function read({ name, value: { metadata, spec, status } }) {
  const images = spec.containers.map(({ image }) => image);
  return {
    name,
    change: metadata.annotations[CHANGED],
    node: spec.nodeName,
    phase: status.phase,
    images,
  };
}
