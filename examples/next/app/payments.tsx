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
  return (
    <Form path="/sign-in" submit={() => post("/sign-in", { customer: "awa" })}>
      <input type="hidden" name="customer" value="awa" />
      <button>Sign in as Awa</button>
    </Form>
  );
}

/** A form that works before the script has run, or without it. */
export function Form({ path, submit, children }: { path: string; submit: () => void; children: ReactNode }) {
  return <form method="post" action={path} onSubmit={(event) => (event.preventDefault(), submit())}>{children}</form>;
}

function SignOut({ email }: { email: string }) {
  const { revoke } = useSession();
  const signOut = async () => {
    await revoke().catch(() => {}); // the session ends by itself, too
    await post("/sign-out", {});
  };
  return <Form path="/sign-out" submit={signOut}><button>Sign out {email}</button></Form>;
}
