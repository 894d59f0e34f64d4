import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import styles from "./shell.module.css";
import { shortcuts } from "./shortcuts.js";

/** Shows all shortcuts. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog
      title="Keyboard shortcuts"
      onClose={onClose}
      buttons={
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      {shortcuts.map(({ title, list }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className={styles.shortcuts}>
            {list.map(({ keys, does }) => (
              <div key={does}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
