import { Link } from "@tanstack/react-router";
import styles from "./app.module.css";

/** The navigation to all resources of the cluster. */
export function Sidebar() {
  return (
    <nav className={styles.sidebar} aria-label="Resources">
      <Link to="/" className={styles.brand}>
        kubeconnect
      </Link>
      <Link to="/r/$resource" params={{ resource: "pods" }}>
        Pods
      </Link>
    </nav>
  );
}
