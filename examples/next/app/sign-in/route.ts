export { signIn as POST } from "../shop";
