"use client";

import { useState, type ReactNode } from "react";
import { createGuichet } from "guichet";
import { GuichetProvider, useSession } from "guichet/react";

// In a state: a client at the top of a module would be shared by everybody whose page the server renders.
export function Payments({ service, children }: { service: string; children: ReactNode }) {
  const [client] = useState(() => createGuichet({ baseUrl: service, merchant: "/guichet" }));
  return <GuichetProvider client={client}>{children}</GuichetProvider>;
}

export function Account() {
  const { state, email, renew, revoke } = useSession();
  if (state === "revoked") return <button onClick={() => renew()}>Sign in</button>;
  return email ? <button onClick={() => revoke()}>Sign out {email}</button> : null;
}
