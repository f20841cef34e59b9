// The same call by the package and by the hand-written client, in turn. Each goes first every second time.
import { createGuichet } from "guichet";
import * as hand from "./hand.js";

window.pairs = async (service, count) => {
  const [ours, other] = [createGuichet, hand.createGuichet].map((create) => create({ baseUrl: service, merchant: "/merchant" }));
  const of = { payment_method: "mobile_money", currency: "XAF", amount: "45000" };
  const time = async (client) => {
    const begun = performance.now();
    await client.fee(of);
    return (performance.now() - begun) / 1000;
  };
  const took = { ours: [], other: [] };
  const warm = count / 20;
  for (let turn = 0; turn < warm + count; turn++) {
    let one, two;
    if (turn % 2) [two, one] = [await time(other), await time(ours)];
    else [one, two] = [await time(ours), await time(other)];
    if (turn >= warm) took.ours.push(one), took.other.push(two);
  }
  return took;
};
