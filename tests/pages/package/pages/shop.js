// What a shop's page does with the package from first to last: it is weighed by `cargo xtask size`.
import { createGuichet, GuichetError } from "guichet";

const guichet = createGuichet({ baseUrl: "/pay", merchant: "/guichet" });
const show = (what) => document.body.append(JSON.stringify(what));
const told = (error) => show(GuichetError.is(error) ? error.kind : "?");

document.querySelector("#pay").onclick = () => guichet.checkout({ order: { id: "17" } }, { mode: "redirect" }).catch(told);
document.querySelector("#leave").onclick = () => guichet.session.revoke().catch(told);

show(await guichet.session.validate());
show(await guichet.paymentMethods({ country_code: "CM" }));
show(await guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount: "45000" }));
const back = await guichet.returned();
if (back) show(await guichet.waitForOutcome(back));
