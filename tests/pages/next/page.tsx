import { service } from "../service";
import { Call } from "./call";

export default function Beside() {
  return <Call service={service} />;
}
