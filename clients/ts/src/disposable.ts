/** The type of a symbol of `Symbol`; never if the program's `lib` does not have it. */
type KnownSymbol<Name extends string> =
  SymbolConstructor extends Readonly<Record<Name, infer S extends symbol>> ? S : never;

/**
 * What `using` and `await using` need. The types need `lib: ["esnext.disposable"]`, or @types/node;
 * without it a program compiles too.
 */
export type Closing = Readonly<Record<KnownSymbol<"dispose">, () => void>> &
  Readonly<Record<KnownSymbol<"asyncDispose">, () => PromiseLike<void>>>;

/** Lets the objects of a class be closed by `using` and `await using`, where the runtime has them. */
export function makeDisposable(prototype: { close(): void }): void {
  const { dispose, asyncDispose } = Symbol as { dispose?: symbol; asyncDispose?: symbol };
  if (dispose) Object.assign(prototype, { [dispose]: close });
  if (asyncDispose) Object.assign(prototype, { [asyncDispose]: closeLater });
}

function close(this: { close(): void }): void {
  this.close();
}

function closeLater(this: { close(): void }): Promise<void> {
  this.close();
  return Promise.resolve();
}
