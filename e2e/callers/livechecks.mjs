// Checks of live stores against the words of their documentation. Each check is called again and again;
// `problems` has what is wrong.

export const problems = [];

/** The number of different snapshots with objects or groups that were checked. */
export let checkedCount = 0;

function want(holds, description) {
  if (!holds && problems.length < 20) problems.push(description);
}

/** Returns the objects as lines, in order. */
export function linesOf(objects) {
  return [...objects].map(({ key, uid, resourceVersion }) => `${key} ${uid}@${resourceVersion}`);
}

/**
 * Follows a store by `subscribe`, and a store of objects also by `changes`, and checks every state.
 * Returns a function that leaves it.
 */
export function followChecked(store, name) {
  let last = store.snapshot;
  let left = false;
  let replayed = store.changes && new Map(last?.objects);
  const leaveChanges = store.changes?.((changes) => {
    want(!left, `${name}: changes after leaving`);
    want(
      changes.added.length + changes.modified.length + changes.deleted.length > 0,
      `${name}: changes without a change`,
    );
    replay(replayed, changes, name);
  });
  const leave = store.subscribe((snapshot) => {
    want(!left, `${name}: a snapshot after leaving`);
    want(
      snapshot === store.snapshot && snapshot === store.getSnapshot(),
      `${name}: a listener gets another snapshot`,
    );
    want(snapshot !== undefined || last === undefined, `${name}: the snapshot is lost`);
    if (snapshot && last && snapshot !== last) checkNext(last, snapshot, name);
    if (snapshot && snapshot !== last && entriesOf(snapshot).length > 0) checkedCount++;
    if (snapshot?.objects) {
      checkReplayed(replayed, snapshot, name);
      checkLists(store, snapshot, name);
    }
    last = snapshot;
  });
  return () => {
    leave();
    leaveChanges?.();
    left = true;
  };
}

function replay(replayed, { added, modified, deleted }, name) {
  for (const object of deleted) {
    want(
      replayed.get(object.key)?.uid === object.uid,
      `${name}: ${object.key} is deleted, but was not there`,
    );
    replayed.delete(object.key);
  }
  for (const object of added) {
    want(!replayed.has(object.key), `${name}: ${object.key} is added twice`);
    replayed.set(object.key, object);
  }
  for (const object of modified) {
    const before = replayed.get(object.key);
    want(before !== undefined, `${name}: ${object.key} is modified, but was not there`);
    want(before !== object, `${name}: ${object.key} is modified, but is the same object`);
    replayed.set(object.key, object);
  }
}

function checkReplayed(replayed, { objects }, name) {
  const same =
    replayed.size === objects.size &&
    [...objects].every(([key, object]) => replayed.get(key) === object);
  want(
    same,
    `${name}: the changes lead to ${linesOf(replayed.values())}, not ${linesOf(objects.values())}`,
  );
}

/** Objects and groups that have not changed are the same in the next snapshot, which differs. */
function checkNext(before, after, name) {
  const differs = Object.keys(after).some(
    (field) =>
      JSON.stringify(comparable(before[field])) !== JSON.stringify(comparable(after[field])),
  );
  want(differs, `${name}: a new snapshot without a difference`);
  const earlier = new Map(entriesOf(before));
  for (const [key, value] of entriesOf(after)) {
    const old = earlier.get(key);
    if (old === undefined || old === value) continue;
    const isSame =
      "uid" in old
        ? old.uid === value.uid && old.resourceVersion === value.resourceVersion
        : JSON.stringify(old) === JSON.stringify(value);
    want(!isSame, `${name}: ${key} has not changed, but is another object`);
  }
}

function comparable(field) {
  if (field instanceof Map) return linesOf(field.values());
  return Array.isArray(field) && field[0]?.uid ? linesOf(field) : field;
}

function entriesOf({ objects, items, groups }) {
  if (objects) return [...objects];
  if (items) return items.map((item) => [item.key, item]);
  return groups.map((group) => [JSON.stringify(group.values), group]);
}

const byName = (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function checkLists(store, { objects }, name) {
  const all = [...objects.values()].sort(byName);
  want(
    isSameList(store.list(), all) && store.list() === store.list(),
    `${name}: list is not that of the snapshot`,
  );
  for (const namespace of new Set(all.map((object) => object.namespace))) {
    const some = all.filter((object) => object.namespace === namespace);
    want(isSameList(store.list(namespace), some), `${name}: list of a namespace`);
    want(store.get(some[0]) === some[0], `${name}: get returns another object`);
  }
  if (!store.indexed) return;
  for (const color of ["red", "green", "blue", ""]) {
    const some = all.filter(({ value }) => colorOf(value) === color);
    want(isSameList(store.byIndex("color", color), some), `${name}: byIndex of ${color}`);
    want(
      store.byIndex("color", color) === store.byIndex("color", color),
      `${name}: byIndex is not stable`,
    );
  }
}

export function colorOf({ metadata }) {
  return metadata.labels?.color ?? "";
}

function isSameList(got, expected) {
  return got.length === expected.length && got.every((object, i) => object === expected[i]);
}
