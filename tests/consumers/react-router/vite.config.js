import { reactRouter } from "@react-router/dev/vite";

// The packages are in the folder above.
export default { plugins: [reactRouter()], server: { fs: { allow: [".."] } } };
