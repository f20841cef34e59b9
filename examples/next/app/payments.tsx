"use client";

import { useState, type ReactNode } from "react";
import { createGuichet } from "guichet";
import { GuichetProvider, useSession } from "guichet/react";

// In a state: a client at the top of a module would be shared by everybody whose page the server renders.
export function Payments({ service, children }: { service: string; children: ReactNode }) {
  const [client] = useState(() => createGuichet({ baseUrl: service, merchant: "/guichet" }));
  return <GuichetProvider client={client}>{children}</GuichetProvider>;
}

// A new customer gets a new page and a new client.
async function post(path: string, body: object) {
  await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  location.assign("/");
}

export function Account({ email }: { email: string | undefined }) {
  if (email) return <SignOut email={email} />;
  return <button onClick={() => post("/sign-in", { customer: "awa" })}>Sign in as Awa</button>;
}

function SignOut({ email }: { email: string }) {
  const { revoke } = useSession();
  const signOut = async () => {
    await revoke().catch(() => {}); // the session ends by itself, too
    await post("/sign-out", {});
  };
  return <button onClick={signOut}>Sign out {email}</button>;
}
