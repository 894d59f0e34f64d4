// A module that shifts the clock of a Node.js program by MINUTES.
//
// env MINUTES=10 node --import ./shiftedclock.mjs PROGRAM

const now = Date.now;
const shift = Number(process.env.MINUTES) * 60_000;
Date.now = () => now() + shift;
globalThis.Date = new Proxy(Date, {
  construct: (target, args) =>
    new target(...(args.length > 0 ? args : [target.now()])),
});
