/** The official client: @kubernetes/client-node. */
import "./undici.mjs";
import {
  ADD,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  UPDATE,
  Watch,
} from "../../clients/node_modules/@kubernetes/client-node/dist/index.js";
import { CHANGED, run } from "./task.mjs";

await run({
  connect({ kubeconfig }) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    return { config, api: config.makeApiClient(CoreV1Api) };
  },

  async listPods({ api }, namespace) {
    const { items } = await api.listNamespacedPod({ namespace });
    return items.map(read);
  },

  watchPods({ config }, namespace, onPod) {
    const onEvent = (type, pod) => onPod(read(pod));
    return new Watch(config).watch(pathOf(namespace), {}, onEvent, endWith);
  },

  storePods({ config, api }, namespace, onAdd, onChange) {
    const list = () => api.listNamespacedPod({ namespace });
    const informer = makeInformer(config, pathOf(namespace), list);
    informer.on(ADD, (pod) => onAdd(pod.spec.nodeName));
    informer.on(UPDATE, (pod) => onChange(pod.spec.nodeName));
    informer.on("error", endWith);
    void informer.start();
    return () => informer.list(namespace).map(read);
  },
});

/** Returns the path of the pods of a namespace. */
function pathOf(namespace) {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** Ends the program when a stream has ended, which the bench reports. */
function endWith(error) {
  console.error(error);
  process.exit(1);
}

/** Reads a pod. */
function read({ metadata, spec, status }) {
  const images = spec.containers.map(({ image }) => image);
  return {
    name: metadata.name,
    change: metadata.annotations[CHANGED],
    node: spec.nodeName,
    phase: status.phase,
    images,
  };
}
