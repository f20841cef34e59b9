export { signOut as POST } from "../shop";
