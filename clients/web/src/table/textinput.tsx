import { useEffect, useRef, useState, type Ref } from "react";
import ui from "../ui/ui.module.css";

interface TextInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string | undefined) => void;
  /** Called on Escape. */
  readonly onLeave: () => void;
  /** Whether the text is applied while the user types; otherwise on Enter. */
  readonly isLive?: boolean;
  readonly isInvalid?: boolean;
  readonly className?: string | undefined;
  readonly ref?: Ref<HTMLInputElement>;
}

const typingPause = 150;

/** The text of an input. It begins again with the value when another one is applied. */
export function useText(value: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const [applied, setApplied] = useState(value);
  if (applied !== value) {
    setApplied(value);
    setText(value);
  }
  return [text, setText];
}

/** An input of a toolbar, whose text is part of the address. */
export function TextInput(props: TextInputProps) {
  const { label, placeholder, value, onChange, onLeave, isLive = false, isInvalid, ref } = props;
  const [text, setText] = useText(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [value],
  );
  const apply = (next: string) => {
    clearTimeout(timer.current);
    if (next.trim() !== value) onChange(next.trim() || undefined);
  };
  return (
    <input
      ref={ref}
      className={`${ui.field} ${props.className ?? ""}`}
      type="search"
      aria-label={label}
      aria-invalid={isInvalid}
      placeholder={placeholder}
      spellCheck={false}
      autoComplete="off"
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        setText(next);
        clearTimeout(timer.current);
        if (isLive || next === "") timer.current = setTimeout(apply, typingPause, next);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(text);
        if (event.key === "Escape") onLeave();
        if (event.key === "Escape") event.preventDefault();
      }}
      onBlur={() => {
        apply(text);
      }}
    />
  );
}
