import Link from "next/link";
import { Payment } from "./payment";

export const metadata = { title: "Your payment" };

// The page of the `redirect_url`. Without script the customer reads the page of the shop's server.
export default async function Return({ searchParams }: { searchParams: Promise<Record<string, string | string[] | undefined>> }) {
  const { payment_ref } = await searchParams;
  const plain = `/guichet/return?payment_ref=${encodeURIComponent(String(payment_ref))}`;
  return (
    <>
      {payment_ref ? <noscript><meta httpEquiv="refresh" content={`0; url=${plain}`} /><a href={plain}>Your payment</a></noscript> : null}
      <Payment />
      <p><Link href="/">Back to the shop</Link></p>
    </>
  );
}
