import type { ReactNode } from "react";
import { connection } from "next/server";
import { Account, Payments } from "./payments";
import { customer, service } from "./shop";
import "./style.css";

export const metadata = { title: "A shop in Next", icons: "data:," };

export default async function Layout({ children }: { children: ReactNode }) {
  await connection(); // `service` is read when a page is requested, not when it is built
  const buyer = await customer();
  return (
    <html lang="en">
      <body>
        <Payments service={service}>
          <main>
            <header>
              <h1>Shoes</h1>
              <Account email={buyer?.email} />
            </header>
            {buyer ? children : <p>Sign in to see what you pay.</p>}
          </main>
        </Payments>
      </body>
    </html>
  );
}
