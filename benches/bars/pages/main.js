// The page of the first fee, with the package or with the hand-written client in its place.
import { createGuichet } from "guichet";

const { service, amount } = Object.fromEntries(new URLSearchParams(location.search));
const guichet = createGuichet({ baseUrl: service, merchant: "/merchant" });
guichet.fee({ payment_method: "mobile_money", currency: "XAF", amount }).then(({ fee }) => show(`${fee} XAF`), (error) => show(String(error)));
