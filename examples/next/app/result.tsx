import type { Outcome } from "guichet";

const sentences: Record<Outcome["state"], string> = {
  succeeded: "Thank you. You have paid.",
  failed: "The payment was declined. Nothing was taken.",
  canceled: "The payment was canceled. Nothing was taken.",
  pending: "The payment is still under way. We will write to you.",
  dismissed: "You have not paid yet.",
  unknown: "We do not know yet whether you have paid. We will write to you.",
};

export function Result({ outcome }: { outcome: Outcome | undefined }) {
  return <p role="status" data-state={outcome?.state}>{outcome ? sentences[outcome.state] : "Asking for your payment…"}</p>;
}
