import { createGuichet } from "guichet";

const guichet = createGuichet({ baseUrl: "http://127.0.0.1:4243", merchant: "/guichet" });
const show = (text) => (document.querySelector("#message").textContent = text);

document.querySelector("#sign-in").onclick = async () => {
  const headers = { "Content-Type": "application/json" };
  await fetch("/sign-in", { method: "POST", headers, body: JSON.stringify({ customer: "awa" }) });
  const quotes = await guichet.quotes({ amount: "5000", currency: "XAF", fee_bearer: "customer" });
  show(`${quotes.length} prices`);
};
document.querySelector("#pay").onclick = () => guichet.checkout({ order: { id: "17", product: "trainers" } });

const back = await guichet.returned();
if (back) show((await guichet.waitForOutcome(back)).state);
