export { preflight as OPTIONS, signIn as POST } from "../shop";
