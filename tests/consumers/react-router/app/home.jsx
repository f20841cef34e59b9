import { useEffect, useRef } from "react";
import { call } from "./calls.js";

export default function Home() {
  const shown = useRef(null);
  useEffect(() => void call(shown.current), []);
  return <pre id="shown" ref={shown} />;
}
