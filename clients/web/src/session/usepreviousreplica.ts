import { useEffect, useRef, useState } from "react";

/** How long a change of the replica is shown. */
const shownMs = 10_000;

/**
 * Returns the replica that has served until the connection was lost, for some seconds after another
 * one has begun to serve. Streams that are opened while the page is live may be served by any
 * replica; such a change is not shown.
 */
export function usePreviousReplica(
  replica: string | undefined,
  isLive: boolean,
): string | undefined {
  const served = useRef<string>(undefined);
  const [previous, setPrevious] = useState<string>();
  useEffect(() => {
    const before = served.current;
    if (!isLive || before === undefined || before === replica) return;
    setPrevious(before);
    const timer = setTimeout(() => {
      setPrevious(undefined);
    }, shownMs);
    return () => {
      clearTimeout(timer);
      setPrevious(undefined);
    };
  }, [isLive]); // not when another stream is opened
  useEffect(() => {
    if (isLive) served.current = replica;
  }, [isLive, replica]);
  return previous;
}
