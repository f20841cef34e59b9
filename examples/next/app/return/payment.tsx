"use client";

import { useReturn } from "guichet/react";
import { describe } from "guichet/words";
import { Result } from "../result";

export function Payment() {
  const { back, outcome, error } = useReturn();
  if (error) return <p role="alert">{describe(error, "en")}</p>;
  return back === null ? <p>There is no payment to show.</p> : <Result outcome={outcome} />;
}
