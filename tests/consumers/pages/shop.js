// Everything that a shop's page does with the package. `cargo xtask size` measures it.
import { createGuichet, GuichetError } from "guichet";

const guichet = createGuichet({ baseUrl: "/pay", merchant: "/guichet" });
const show = (what) => document.body.append(JSON.stringify(what));
const showError = (error) => show(GuichetError.is(error) ? error.kind : "?");

document.querySelector("#pay").onclick = () => guichet.checkout({ order: { id: "17" } }, { mode: "redirect" }).catch(showError);
document.querySelector("#leave").onclick = () => guichet.session.revoke().catch(showError);

show(await guichet.session.validate());
show(await guichet.paymentMethods({ country_code: "CM" }));
show(await guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount: "45000" }));
const back = await guichet.returned();
if (back) show(await guichet.waitForOutcome(back));
