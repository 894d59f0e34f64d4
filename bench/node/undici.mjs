/**
 * Lets the official client run on Node.js 20, for which its HTTP client, undici, is not written. These
 * are the functions of Node.js 22 that undici refers to. It calls only the last of them for the
 * requests of these programs: the API server does not encode with zstd, and no object is sent to
 * another thread.
 */
import workers from "node:worker_threads";
import zlib from "node:zlib";

zlib.createZstdDecompress ??= () => {
  throw new Error("this version of Node.js cannot decode zstd: use Node.js 22");
};
workers.markAsUncloneable ??= () => undefined;
Promise.withResolvers ??= () => {
  let settle;
  const promise = new Promise((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
};
