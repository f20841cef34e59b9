import { formatMoney } from "guichet/words";
import { Basket } from "./basket";
import { product } from "./shop";

// A server component: it reads the catalogue, and the page that comes from the server shows the price.
export default function Shop() {
  const { name, amount, currency } = product;
  return (
    <>
      <p>{name}, {formatMoney(amount, currency, "en")}. What you pay in all, by how you pay:</p>
      <Basket order={{ id: "17" }} amount={amount} currency={currency} />
    </>
  );
}
