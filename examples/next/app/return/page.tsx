import Link from "next/link";
import { Payment } from "./payment";

export const metadata = { title: "Your payment" };

// The page of the `redirect_url`.
export default function Return() {
  return (
    <>
      <Payment />
      <p><Link href="/">Back to the shop</Link></p>
    </>
  );
}
