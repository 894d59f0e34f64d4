// The dialog in which a label of a pod is edited.

/** Opens it for any label of a pod. */
export async function openDialog(page, pod) {
  await page.click(`${rowOf(pod)} .edit`);
}

/** Opens it for one label, as "key=value", by a click on that. */
export async function openDialogOf(page, pod, label) {
  await page.click(chipOf(pod, label));
}

/** Fills it in and asks to save. */
export async function save(page, key, value) {
  await page.fill("#label-key", key);
  await page.fill("#label-value", value);
  await page.click("#label-save");
}

/** Waits until it has closed by itself and the row shows a label. */
export async function untilLabelled(page, pod, label) {
  await untilClosed(page);
  await page.waitForSelector(chipOf(pod, label));
}

/** Waits until it has closed by itself and the row shows a label no more. */
export async function untilUnlabelled(page, pod, label) {
  await untilClosed(page);
  await page.waitForSelector(chipOf(pod, label), { state: "detached" });
}

async function untilClosed(page) {
  await page.waitForSelector("#label-dialog[open]", { state: "hidden" });
}

function rowOf(pod) {
  return `tr[data-name="${pod}"]`;
}

function chipOf(pod, label) {
  return `${rowOf(pod)} .chip[title="${label}"]`;
}
