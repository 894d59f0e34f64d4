// Helpers for the dialog that edits a label of a pod.

/** Opens the dialog for any label of a pod. */
export async function openDialog(page, pod) {
  await page.click(`${rowOf(pod)} .edit`);
}

/** Opens the dialog for one label, "key=value", by a click on the label. */
export async function openDialogOf(page, pod, label) {
  await page.click(chipOf(pod, label));
}

/** Fills in the dialog and clicks save. */
export async function save(page, key, value) {
  await page.fill("#label-key", key);
  await page.fill("#label-value", value);
  await page.click("#label-save");
}

/** Waits until the dialog has closed by itself and the row shows the label. */
export async function untilLabelled(page, pod, label) {
  await untilClosed(page);
  await page.waitForSelector(chipOf(pod, label));
}

/** Waits until the dialog has closed by itself and the row does not show the label any more. */
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
