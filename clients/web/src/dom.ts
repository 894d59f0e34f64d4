/** Returns the element with this id and class. Throws if the page has no such element. */
export function byId<E extends HTMLElement>(id: string, type: new () => E): E {
  const element = document.getElementById(id);
  if (!(element instanceof type)) {
    throw new Error(`the page has no ${type.name} #${id}`);
  }
  return element;
}

/** Creates an element. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: { className?: string; textContent?: string; title?: string; role?: string } = {},
  ...children: Node[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Sets a node's text, if it differs. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Returns a function that schedules `draw` for the next frame, at most once per frame. */
export function oncePerFrame(draw: () => void): () => void {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      draw();
    });
  };
}
