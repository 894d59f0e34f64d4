import { Suspense, useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button } from "../ui/button.js";
import styles from "./table.module.css";

interface PopoverProps {
  readonly label: string;
  readonly children: ReactNode;
}

/** A button that opens a panel below it. Escape and a click outside close it. */
export function Popover({ label, children }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const onPointer = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    };
    document.addEventListener("pointerdown", onPointer);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", onPointer);
      document.removeEventListener("keydown", onKey);
    };
  }, [isOpen]);
  return (
    <div ref={root} className={styles.popover}>
      <Button
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => {
          setOpen(!isOpen);
        }}
      >
        {label}
        <span aria-hidden>▾</span>
      </Button>
      {isOpen && (
        <div id={id} className={styles.panel} role="group" aria-label={label}>
          <Suspense fallback={<p>Loading…</p>}>{children}</Suspense>
        </div>
      )}
    </div>
  );
}
