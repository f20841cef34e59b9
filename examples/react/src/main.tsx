import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createGuichet } from "guichet";
import { GuichetProvider } from "guichet/react";
import { Shop } from "./shop";

const guichet = createGuichet({ baseUrl: "http://127.0.0.1:4243", merchant: "/guichet" }); // the sandbox

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <GuichetProvider client={guichet}>
      <Shop />
    </GuichetProvider>
  </StrictMode>,
);
