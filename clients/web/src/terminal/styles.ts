/**
 * The styles of xterm.js, which it writes into elements and attributes that the Content-Security-Policy
 * does not allow. Constructed style sheets and the properties of elements are allowed.
 */

/** Returns the document for a terminal, whose elements have their styles in an allowed way. */
export function styledDocument(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === "createElement") return createStyled;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Calls a function that creates elements by the document itself. */
export function withStyledElements(call: () => void): void {
  Object.defineProperty(document, "createElement", { value: createStyled, configurable: true });
  try {
    call();
  } finally {
    Reflect.deleteProperty(document, "createElement"); // that of the prototype is used again
  }
}

type Create = (name: string, options?: ElementCreationOptions) => HTMLElement;

/** The function that the document has of its own. */
const create: Create = Reflect.get(Document.prototype, "createElement");

function createStyled(name: string, options?: ElementCreationOptions): HTMLElement {
  if (name === "style") return createSheet();
  const element = create.call(document, name, options);
  if (name === "span") intoProperties(element);
  return element;
}

/**
 * Returns an element whose text is a style sheet of the page until it is removed. Of an element for styles
 * not even an empty text is allowed, and so it is another one, which is not shown.
 */
function createSheet(): HTMLElement {
  const element = create.call(document, "template");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", {
    set: (text: string) => {
      sheet.replaceSync(text);
    },
  });
  element.remove = () => {
    Element.prototype.remove.call(element);
    const others = document.adoptedStyleSheets.filter((each) => each !== sheet);
    document.adoptedStyleSheets = others;
  };
  return element;
}

/** Makes the attribute "style" of an element the properties of its style. */
function intoProperties(element: HTMLElement): void {
  element.setAttribute = (name: string, value: string) => {
    if (name === "style") element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
}
