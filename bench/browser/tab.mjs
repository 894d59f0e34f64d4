/**
 * Opens a page with a table in a Chromium of its own, and measures it while its rows change.
 *
 * node tab.mjs ADDRESS ROW SCROLLER SECONDS
 *
 * ROW and SCROLLER are CSS selectors of a row with an object, and of the element that scrolls. The
 * program prints lines of JSON, each with a step, and ends after the last one.
 */
import { chromium } from "../../clients/node_modules/playwright-core/index.mjs";

const [address, row, scroller, seconds] = process.argv.slice(2);
const phase = Number(seconds) * 1000;

/** The time limit for the first rows, in milliseconds. */
const patience = 80_000;

/** The speed at which the table is scrolled, in pixels a second: about 120 rows. */
const speed = 3600;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  await measure(
    await browser.newPage({
      viewport: { width: 1440, height: 900 },
      ignoreHTTPSErrors: true,
    }),
  );
} finally {
  await browser.close();
}

async function measure(page) {
  const failures = [];
  page.on("pageerror", (error) => failures.push(error));
  const session = await page.context().newCDPSession(page);
  const system = await browser.newBrowserCDPSession();
  await page.addInitScript(recordFirstRow, row);
  await page.goto(address);
  await page.waitForFunction(() => globalThis.firstRow !== undefined, null, {
    timeout: patience,
  });
  report("shown", { shown: await page.evaluate(() => globalThis.firstRow) });

  await page.waitForTimeout(phase / 4);
  report("steady");
  const before = await cpuOf(system);
  const steady = await page.evaluate(frames, { phase, row });
  report("steadied", { ...steady, cpu: (await cpuOf(system)) - before });

  report(
    "scrolled",
    await page.evaluate(frames, { phase, row, scroller, speed }),
  );
  const peak = await heapOf(session);
  await session.send("HeapProfiler.collectGarbage");
  report("end", { heap: await heapOf(session), peak });
  if (failures.length > 0)
    throw new AggregateError(failures, "scripts of the page have failed");
}

/** Sets `firstRow` to the time at which the first row was painted, since the start of the navigation. */
function recordFirstRow(row) {
  const observer = new MutationObserver(() => {
    if (!document.querySelector(row)) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      requestAnimationFrame((time) => {
        globalThis.firstRow = time;
      });
    });
  });
  observer.observe(document, { childList: true, subtree: true });
}

/**
 * Resolves with the times between frames, in milliseconds, while the table is scrolled down and up if
 * there is a scroller; with the number of changes to the texts of rows; and with the part of the
 * observed frames in which the table showed rows only.
 */
async function frames({ phase, row, scroller, speed }) {
  const element = scroller && document.querySelector(scroller);
  const grid = document.querySelector(row).closest("[role=grid]");
  let changes = 0;
  const observer = new MutationObserver((records) => {
    changes += records.filter(
      ({ type, addedNodes }) =>
        type === "characterData" || addedNodes.length > 0,
    ).length;
  });
  observer.observe(grid, {
    characterData: true,
    childList: true,
    subtree: true,
  });

  const times = [];
  let observed = 0;
  let complete = 0;
  let direction = 1;
  const isComplete = () => {
    const box = grid.getBoundingClientRect();
    return [0.25, 0.5, 0.75].every((part) =>
      document
        .elementFromPoint(box.x + 200, box.y + box.height * part)
        ?.closest("[role=row]")
        ?.matches(`:has(${row.split(" ").at(-1)})`),
    );
  };
  await new Promise((resolve) => {
    let last;
    const start = performance.now();
    requestAnimationFrame(function next(time) {
      if (last !== undefined) times.push(time - last);
      if (element && last !== undefined) {
        if (
          element.scrollTop + element.clientHeight >=
          element.scrollHeight - 1
        )
          direction = -1;
        element.scrollTop += (direction * speed * (time - last)) / 1000;
      }
      last = time;
      if (times.length % 10 === 0) {
        observed++;
        if (isComplete()) complete++;
      }
      if (time - start < phase) requestAnimationFrame(next);
      else resolve();
    });
  });
  observer.disconnect();
  times.sort((a, b) => a - b);
  return {
    p50: times[Math.floor(times.length * 0.5)],
    p95: times[Math.floor(times.length * 0.95)],
    frames: times.length,
    changes,
    complete: complete / observed,
  };
}

/** Returns the bytes of JavaScript's heap that are in use. */
async function heapOf(session) {
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}

/** Returns the CPU time of all tabs in seconds. */
async function cpuOf(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo
    .filter(({ type }) => type === "renderer")
    .reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

function report(step, fields = {}) {
  console.log(JSON.stringify({ step, ...fields }));
}
