import type { Outcome } from "guichet";
import { describeLateApproval, formatMoney } from "guichet/words";

const sentences: Record<Outcome["state"], string> = {
  succeeded: "Thank you. You have paid.",
  failed: "The payment was declined.",
  canceled: "The payment was canceled.",
  pending: "The payment is still under way. We will write to you.",
  dismissed: "You have not paid yet.",
  unknown: "We do not know yet whether you have paid. We will write to you.",
};

export function Result({ outcome }: { outcome: Outcome | undefined }) {
  return (
    <div role="status" data-state={outcome?.state}>{outcome ? <Known outcome={outcome} /> : <p>Asking for your payment…</p>}</div>
  );
}

function Known({ outcome }: { outcome: Outcome }) {
  const { state, merchant_reference, amount, amount_payable, plus_fee } = outcome;
  // If the operator may still approve an attempt that it declined, nobody knows yet whether it took the money.
  const late = describeLateApproval(outcome, "en");
  const payable = amount_payable ?? amount; // one amount, which the customer pays
  const sum = payable && formatMoney(payable, "XAF", "en") + (plus_fee ? " plus the fee" : "");
  return (
    <>
      <p>{late ?? sentences[state]}</p>
      {sum ? <p style={{ overflowWrap: "anywhere" }}>{merchant_reference}, {sum}</p> : null}
    </>
  );
}
