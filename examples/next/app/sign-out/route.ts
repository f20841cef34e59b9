export { preflight as OPTIONS, signOut as POST } from "../shop";
