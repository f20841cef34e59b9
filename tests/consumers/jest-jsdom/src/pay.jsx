import { createGuichet } from "guichet";
import { GuichetProvider, useSession } from "guichet/react";
import { describe } from "guichet/words";

const guichet = createGuichet({ baseUrl: "https://api.example.com", merchant: "/guichet" });

const Session = () => <p>{useSession().state}</p>;

export const Pay = () => (
  <GuichetProvider client={guichet}>
    <Session />
    <button>{describe({ kind: "offline" }, "en")}</button>
  </GuichetProvider>
);
