/** Prints the result of a step as one line of JSON. */
export function report(step, fields = {}) {
  console.log(JSON.stringify({ step, ...fields }));
}
