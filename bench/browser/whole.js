/**
 * A live table of all pods as dashboards show it that read the API server: the tab lists all pods,
 * watches them, keeps them whole, and renders the visible rows. It is written for speed, without a
 * framework: changes are rendered once in a frame, and a change does not sort the pods again.
 */

const path = "/api/v1/pods";
const rowHeight = 30;

const grid = document.getElementById("grid");
const body = document.getElementById("rows");

/** All pods by namespace and name, and the sorted keys. */
const pods = new Map();
let keys = [];

const rows = [];
let scheduled = false;

for (;;) {
  try {
    await follow(await list());
  } catch (error) {
    console.warn("listing again", error);
  }
}

/** Lists all pods, and returns the version of the list. */
async function list() {
  const { items, metadata } = await (await fetch(path)).json();
  pods.clear();
  for (const pod of items) pods.set(keyOf(pod), pod);
  keys = [...pods.keys()].sort();
  schedule();
  return metadata.resourceVersion;
}

/** Applies the changes since a version, until they are no longer available. */
async function follow(version) {
  for (;;) {
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${version}`;
    for await (const { type, object } of linesOf(
      await fetch(`${path}?${query}`),
    )) {
      if (type === "ERROR") throw new Error(object.message);
      version = object.metadata.resourceVersion;
      if (type !== "BOOKMARK") apply(type, object);
    }
  }
}

async function* linesOf(response) {
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (
    let { value, done } = await reader.read();
    !done;
    { value, done } = await reader.read()
  ) {
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

function apply(type, pod) {
  const key = keyOf(pod);
  if (type === "DELETED") {
    pods.delete(key);
    keys.splice(keys.indexOf(key), 1);
  } else {
    if (!pods.has(key)) keys = [...keys, key].sort();
    pods.set(key, pod);
  }
  schedule();
}

function keyOf({ metadata }) {
  return `${metadata.namespace}/${metadata.name}`;
}

grid.addEventListener("scroll", schedule);

function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    render();
  });
}

/** Renders the visible rows, and changes only the texts that differ. */
function render() {
  body.style.height = `${keys.length * rowHeight}px`;
  const first = Math.floor(grid.scrollTop / rowHeight);
  const count = Math.min(
    Math.ceil(grid.clientHeight / rowHeight) + 1,
    keys.length - first,
  );
  while (rows.length < count) rows.push(newRow());
  for (const [at, row] of rows.entries()) {
    row.element.hidden = at >= count;
    if (at >= count) continue;
    row.element.style.transform = `translateY(${(first + at) * rowHeight}px)`;
    for (const [column, text] of cellsOf(
      pods.get(keys[first + at]),
    ).entries()) {
      if (row.texts[column] !== text)
        row.cells[column].textContent = row.texts[column] = text;
    }
  }
}

function newRow() {
  const element = document.createElement("div");
  element.setAttribute("role", "row");
  const cells = Array.from({ length: 7 }, (_, at) =>
    document.createElement(at === 1 ? "a" : "span"),
  );
  element.append(...cells);
  body.append(element);
  return { element, cells, texts: [] };
}

/** Returns the texts of the columns that the console shows too. */
function cellsOf({ metadata, spec, status }) {
  const containers = status.containerStatuses ?? [];
  const restarts = containers.reduce(
    (sum, { restartCount }) => sum + restartCount,
    0,
  );
  return [
    metadata.namespace,
    metadata.name,
    `${containers.filter(({ ready }) => ready).length}/${spec.containers.length}`,
    status.phase,
    String(restarts),
    spec.nodeName ?? "",
    `${Math.round((Date.now() - Date.parse(metadata.creationTimestamp)) / 60_000)}m`,
  ];
}
