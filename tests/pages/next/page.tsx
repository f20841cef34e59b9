import { service } from "../shop";
import { Call } from "./call";

export default function Beside() {
  return <Call service={service} />;
}
