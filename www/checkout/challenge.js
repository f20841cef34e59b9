// The card issuer's page: two buttons. This file sends the customer's decision with the page's token, then
// navigates to the address in the response.
//
// For tests, by data-test: challenge (data-status: asking, sending, trouble, over), challenge-said,
// approve, refuse.

const WORDS = {
  en: {
    sandbox: "Sandbox: no real money moves",
    title: "Your bank",
    question: "Do you approve this card payment?",
    approve: "Approve",
    refuse: "Refuse",
    sending: "One moment: you are being sent back to your payment.",
    trouble: "Your bank could not be reached. Check your connection, then choose again.",
    over: "This page is not valid any more. Go back to your payment.",
  },
  fr: {
    sandbox: "Bac à sable : aucun argent réel ne circule",
    title: "Votre banque",
    question: "Approuvez-vous ce paiement par carte ?",
    approve: "Approuver",
    refuse: "Refuser",
    sending: "Un instant : vous retournez à votre paiement.",
    trouble: "Votre banque est injoignable. Vérifiez votre connexion, puis choisissez à nouveau.",
    over: "Cette page n’est plus valable. Retournez à votre paiement.",
  },
};

const requested = new URLSearchParams(location.search).get("lang") ?? storedLanguage() ?? navigator.language;
const locale = requested.toLowerCase().startsWith("fr") ? "fr" : "en";
const main = document.querySelector("main");
const message = document.getElementById("said");
const buttons = document.querySelectorAll("button");
const token = new URLSearchParams(location.hash.slice(1)).get("token");

document.documentElement.lang = locale;
document.title = WORDS[locale].title;
for (const element of document.querySelectorAll("[data-word]")) element.textContent = WORDS[locale][element.dataset.word];
for (const button of buttons) button.addEventListener("click", () => decide(button.id));
if (token) enable(true);
else show("over");
// A page that the back button restores from the cache can be used again.
addEventListener("pageshow", (event) => {
  if (event.persisted && token) show("asking");
});

/** The language that the customer chose at the checkout. A browser may forbid the storage. */
function storedLanguage() {
  try {
    return sessionStorage.getItem("lang");
  } catch {
    return null;
  }
}

async function decide(decision) {
  show("sending");
  try {
    const response = await fetch(location.pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, decision }),
      cache: "no-store",
    });
    if (response.status === 404) return show("over");
    const { data } = await response.json();
    location.replace(data.checkout_url);
  } catch {
    show("trouble");
  }
}

function show(status) {
  main.dataset.status = status;
  message.textContent = WORDS[locale][status === "asking" ? "question" : status];
  enable(status === "asking" || status === "trouble");
  if (status !== "asking") message.focus();
}

function enable(yes) {
  for (const button of buttons) button.disabled = !yes;
}
