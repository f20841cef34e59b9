import { shopServer } from "./shop-server.js";

export default { plugins: [shopServer()] };
