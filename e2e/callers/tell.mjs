/** Prints one line of JSON: what has been seen at a step. */
export function tell(step, what = {}) {
  console.log(JSON.stringify({ step, ...what }));
}
