import { useEffect, useRef } from "react";
import { call as callBeside } from "./beside.js";
import { call as callInside } from "./inside.js";

export default { title: "Shop" };

function Page({ call }) {
  const shown = useRef(null);
  useEffect(() => void call(shown.current), [call]);
  return <pre id="shown" ref={shown} />;
}

export const Inside = () => <Page call={callInside} />;
export const Beside = () => <Page call={callBeside} />;
