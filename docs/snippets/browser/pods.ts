import { connect } from "@kubeconnect/client/web";
import { isReady } from "@kubeconnect/client/helpers";

const client = connect(window.location.origin);
const list = document.body.appendChild(document.createElement("ul"));
const pods = client.store("pods", { namespace: "shop" });
pods.subscribe(() => {
  const rows = pods.list().map(({ name, value }) => {
    const row = document.createElement("li");
    row.textContent = `${name}: ${isReady(value) ? "ready" : "not ready"}`;
    return row;
  });
  list.replaceChildren(...rows);
});
