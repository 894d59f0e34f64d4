// Has a page embed addresses by <object>, one after the other, and tells which event
// each ends with.
//
// node embed.mjs PAGE ADDRESS...

import { tell } from "../tell.mjs";
import { withPage } from "./page.mjs";

const [address, ...embedded] = process.argv.slice(2);

await withPage(address, async (page) => {
  const events = [];
  for (const data of embedded) {
    events.push(
      await page.evaluate(
        (data) =>
          new Promise((resolve) => {
            const object = document.createElement("object");
            object.onload = () => resolve("load");
            object.onerror = () => resolve("error");
            object.data = data;
            document.body.append(object);
          }),
        data,
      ),
    );
  }
  tell("embedded", { events });
});
