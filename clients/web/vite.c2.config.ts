import base from "./vite.config.ts";
const target = process.env.KUBECONNECT;
export default { ...base, cacheDir: "/tmp/vite-c2", server: { host: "127.0.0.1", port: 5182, strictPort: true, fs: { strict: false }, proxy: { "^/kubeconnect\\.v1\\..*": { target, changeOrigin: false } } } };
