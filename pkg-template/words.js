// The texts of a shop's page about paying, in English and French: a sentence for every error and decline, the
// names of the payment methods, and amounts. The sentences of the hosted checkout page are in hosted-words.js.
//
// A sentence says what happened, then what to do. The two languages hold the same keys: add to
// both. French keeps a no-break space before : ; ! ?

const en = {
  language: "en",
  methods: {
    mobile_money: "Mobile money",
    card: "Bank card",
    card_local: "Card issued in this country",
    card_international: "Card issued abroad",
  },
  kinds: {
    secret_key: "This page contains a key that must stay on the shop's server. Do not pay here, and tell the shop. (Shop: replace that key, and use a session token in pages.)",
    input: "Something that you entered is missing or not valid. Check it and try again.",
    signed_out: "You are not signed in. Sign in and try again.",
    session: "Your session has ended. Sign in again, then try once more.",
    refused: "The payment service refused the request. Try again, or go back to the shop.",
    not_found: "This payment was not found. Go back to the shop and start again from there.",
    offline: "There was no reply. Check your internet connection and try again.",
    timeout: "The reply took too long. Wait a moment, then try the same payment again: it is charged once.",
    unreadable: "This page could not read the reply. Wait a moment and try again.",
    address: "This page cannot take you further: the next address is missing or not allowed. Go back to the shop yourself. (Shop: check redirect_url and checkoutOrigins.)",
    settled: "This payment is already finished. Look at your order before you pay again.",
    unsupported: "This is not possible here. Choose another way, or ask the shop.",
    wasm_blocked: "Paying needs WebAssembly, which this browser or this page does not allow. Update your browser or use another one. (Shop: allow 'wasm-unsafe-eval' in script-src.)",
    wasm_missing: "A file of this page is missing. Reload the page. If that does not help, tell the shop. (Shop: the error's message says which file.)",
    panic: "This page has stopped because of a bug. Reload it, and look at your order before you pay again.",
  },
  codes: {
    invalid_json: "The payment service could not read what was sent. Reload the page and try again.",
    invalid_utf8: "Some characters could not be read. Enter them again with the usual letters and digits.",
    body_not_object: "The payment service could not read what was sent. Reload the page and try again.",
    authentication_required: "You must be signed in to do this. Sign in, or go back to the shop and start again.",
    invalid_key: "The payment service does not know the shop's key. Tell the shop. (Shop: check the key and the address it is sent to.)",
    live_key_in_sandbox: "A key for real money was used in the sandbox. Tell the shop. (Shop: use a test key here.)",
    session_unknown: "Your session was not found. Sign in again.",
    session_expired: "Your session has expired. Sign in again.",
    session_revoked: "You have signed out. Sign in again.",
    session_token_required: "This needs a customer's session. Sign in and try again.",
    role_required: "This page is not allowed to do that. Go back to the shop. (Shop: make this call on your server.)",
    secret_key_in_browser: "This page contains a key that must stay on the shop's server. Do not pay here, and tell the shop. (Shop: replace that key.)",
    resource_missing: "This payment was not found. Go back to the shop and start again from there.",
    route_not_found: "The payment service does not offer this. Ask the shop. (Shop: check the base address.)",
    method_not_allowed: "The payment service does not offer this. Ask the shop. (Shop: check the base address.)",
    uncertain: "It is not certain whether your payment has started. Do not pay again: ask the shop first.",
    payment_mismatch: "This payment is not the one that the shop asked for. Do not pay, and tell the shop.",
    service_failed: "The shop cannot ask the payment company just now. If you have paid, it counts. Wait a moment, then look at your order before you pay.",
    payment_unclear: "The shop cannot confirm your payment yet. Do not pay again: ask the shop.",
    cross_site: "Another site may not make this request to the shop. Open the shop itself and try again.",
    email_not_verified: "The shop has not confirmed your e-mail address yet. Open the link that it sent you, then try again.",
    too_many_open_payments: "You have 20 unpaid payments. Pay or cancel one of them first.",
    order_ended: "The shop no longer sells this at that price. Go back to the shop and order again.",
    body_too_large: "Too much was sent at once. Shorten what you entered and try again.",
    body_too_slow: "Your connection is too slow to send this. Try again where it is better.",
    unsupported_media_type: "The payment service could not read what was sent. Reload the page and try again.",
    merchant_reference_conflict: "The order has changed since its payment began. Go back to the shop and order again.",
    intent_not_confirmable: "This payment can no longer be made, or another attempt is under way. Reload the page to see its status.",
    intent_not_cancelable: "This payment can no longer be canceled. Reload the page to see its status.",
    attempt_not_current: "This attempt to pay has ended, or another one has begun. Reload the page to see the payment's status.",
    subscription_state: "The subscription's state does not allow this. Reload the page to see its status.",
    plan_code_taken: "Another plan already has this code. Choose another code.",
    parameter_missing: "Something is missing. Fill in every field and try again.",
    parameter_invalid: "Something that you entered is not valid. Check it and try again.",
    amount_out_of_range: "This amount cannot be paid. Go back to the shop and change the order.",
    currency_unsupported: "This currency cannot be paid here. Go back to the shop.",
    payment_method_unavailable: "This way of paying is not available for this purchase. Choose another one.",
    quantity_out_of_range: "This quantity is not possible. Go back and choose a smaller one.",
    plan_inactive: "This offer has ended. Go back to the shop and choose another one.",
    test_card_required: "Only test cards work in the sandbox. Never enter a real card: take one of the test numbers.",
    idempotency_key_reused: "This order has changed since it was sent. Go back to the shop and order again.",
    parameter_unknown: "The payment service does not know one of the fields that were sent. Tell the shop.",
    rate_limited: "There were too many attempts in a short time. Wait a minute, then try again.",
    internal_error: "The payment service has a problem. Wait a moment, then try again.",
    unavailable: "The shop cannot ask the payment company just now. If you have paid, it counts. Wait a moment, then try again.",
  },
  declines: {
    insufficient_funds: "There is not enough money in this account. Top it up, or pay another way.",
    rejected_by_payer: "The request was turned down. Try again and accept it, or pay another way.",
    payer_timeout: "The request on the phone was not answered in time. Try again with the phone at hand.",
    provider_unavailable: "Your operator is not available at the moment. Try again in a moment, or pay another way.",
    incorrect_otp: "The one-time code was not correct. Try again: you will receive a new one.",
    incorrect_cvc: "The security code is not correct. Check the 3 or 4 digits on the card.",
    expired_card: "This card has expired. Check its date, or use another card.",
    processing_error: "The bank had a problem. Try again in a moment, or pay another way.",
    authentication_required: "The bank asks the customer to approve this payment. Ask them to make it themselves.",
    payer_not_found: "This number has no mobile money account. Use another number, or pay another way.",
    limit_exceeded: "This payment is over your account's limit. Ask your operator, or pay another way.",
    fraud_blocked: "Your operator does not allow this payment. Ask them why, or pay another way.",
    generic_decline: "The bank refused this payment. Ask your bank why, or pay another way.",
  },
  lateApproval: {
    until: "We do not know yet whether your operator took the money: it may approve this payment until {time}. If you pay a second time and both payments succeed, one of them is refunded.",
    open: "We do not know yet whether your operator took the money. If you pay a second time and both payments succeed, one of them is refunded.",
    paid: "You have paid. Your operator may still approve an earlier attempt, until {time}: if it does, that money is refunded.",
  },
  otherwise: "Something went wrong. Try again; if it happens again, go back to the shop and tell them.",
};

const fr = {
  language: "fr",
  methods: {
    mobile_money: "Mobile money",
    card: "Carte bancaire",
    card_local: "Carte émise dans ce pays",
    card_international: "Carte émise à l’étranger",
  },
  kinds: {
    secret_key: "Cette page contient une clé qui doit rester sur le serveur de la boutique. Ne payez pas ici et prévenez la boutique. (Boutique : remplacez cette clé et utilisez un jeton de session dans les pages.)",
    input: "Une saisie manque ou n’est pas valable. Vérifiez-la et réessayez.",
    signed_out: "Vous n’êtes pas connecté. Connectez-vous et réessayez.",
    session: "Votre session est terminée. Reconnectez-vous, puis réessayez.",
    refused: "Le service de paiement a refusé la demande. Réessayez ou retournez à la boutique.",
    not_found: "Ce paiement est introuvable. Retournez à la boutique et recommencez depuis là.",
    offline: "Aucune réponse n’est arrivée. Vérifiez votre connexion à Internet et réessayez.",
    timeout: "La réponse a mis trop de temps. Attendez un instant, puis réessayez le même paiement : il n’est débité qu’une fois.",
    unreadable: "Cette page n’a pas pu lire la réponse. Attendez un instant et réessayez.",
    address: "Cette page ne peut pas vous conduire plus loin : l’adresse suivante manque ou n’est pas autorisée. Retournez vous-même à la boutique. (Boutique : vérifiez redirect_url et checkoutOrigins.)",
    settled: "Ce paiement est déjà terminé. Regardez votre commande avant de payer à nouveau.",
    unsupported: "Ce n’est pas possible ici. Choisissez un autre moyen ou demandez à la boutique.",
    wasm_blocked: "Le paiement a besoin de WebAssembly, que ce navigateur ou cette page n’autorise pas. Mettez votre navigateur à jour ou utilisez-en un autre. (Boutique : autorisez 'wasm-unsafe-eval' dans script-src.)",
    wasm_missing: "Un fichier de cette page est introuvable. Rechargez la page. Si cela ne suffit pas, prévenez la boutique. (Boutique : le message de l’erreur dit lequel.)",
    panic: "Cette page s’est arrêtée à cause d’une erreur de programme. Rechargez-la et regardez votre commande avant de payer à nouveau.",
  },
  codes: {
    invalid_json: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    invalid_utf8: "Certains caractères sont illisibles. Saisissez-les à nouveau avec les lettres et chiffres habituels.",
    body_not_object: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    authentication_required: "Il faut être connecté pour faire cela. Connectez-vous, ou retournez à la boutique et recommencez.",
    invalid_key: "Le service de paiement ne connaît pas la clé de la boutique. Prévenez la boutique. (Boutique : vérifiez la clé et l’adresse à laquelle elle est envoyée.)",
    live_key_in_sandbox: "Une clé pour de l’argent réel a été utilisée dans le bac à sable. Prévenez la boutique. (Boutique : utilisez ici une clé de test.)",
    session_unknown: "Votre session est introuvable. Reconnectez-vous.",
    session_expired: "Votre session a expiré. Reconnectez-vous.",
    session_revoked: "Vous vous êtes déconnecté. Reconnectez-vous.",
    session_token_required: "Il faut pour cela la session d’un client. Connectez-vous et réessayez.",
    role_required: "Cette page n’a pas le droit de faire cela. Retournez à la boutique. (Boutique : faites cet appel sur votre serveur.)",
    secret_key_in_browser: "Cette page contient une clé qui doit rester sur le serveur de la boutique. Ne payez pas ici et prévenez la boutique. (Boutique : remplacez cette clé.)",
    resource_missing: "Ce paiement est introuvable. Retournez à la boutique et recommencez depuis là.",
    route_not_found: "Le service de paiement ne propose pas cela. Demandez à la boutique. (Boutique : vérifiez l’adresse de base.)",
    method_not_allowed: "Le service de paiement ne propose pas cela. Demandez à la boutique. (Boutique : vérifiez l’adresse de base.)",
    uncertain: "Il n’est pas certain que votre paiement ait commencé. Ne payez pas une seconde fois : demandez d’abord à la boutique.",
    payment_mismatch: "Ce paiement n’est pas celui que la boutique a demandé. Ne payez pas, et prévenez la boutique.",
    service_failed: "La boutique ne peut pas interroger le prestataire de paiement pour le moment. Si vous avez payé, votre paiement est bien pris en compte. Attendez un instant, puis regardez votre commande avant de payer.",
    payment_unclear: "La boutique ne peut pas encore confirmer votre paiement. Ne payez pas de nouveau : demandez à la boutique.",
    cross_site: "Un autre site ne peut pas adresser cette demande à la boutique. Ouvrez la boutique elle-même et réessayez.",
    email_not_verified: "La boutique n’a pas encore vérifié votre adresse e-mail. Ouvrez le lien qu’elle vous a envoyé, puis réessayez.",
    too_many_open_payments: "Vous avez 20 paiements non réglés. Payez-en un ou annulez-le d’abord.",
    order_ended: "La boutique ne vend plus cela à ce prix. Retournez à la boutique et commandez de nouveau.",
    body_too_large: "L’envoi est trop grand. Raccourcissez votre saisie et réessayez.",
    body_too_slow: "Votre connexion est trop lente pour cet envoi. Réessayez là où elle est meilleure.",
    unsupported_media_type: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    merchant_reference_conflict: "La commande a changé depuis le début de son paiement. Retournez à la boutique et commandez à nouveau.",
    intent_not_confirmable: "Ce paiement n’est plus possible, ou un autre essai est en cours. Rechargez la page pour voir où il en est.",
    intent_not_cancelable: "Ce paiement ne peut plus être annulé. Rechargez la page pour voir où il en est.",
    attempt_not_current: "Cet essai de paiement est terminé, ou un autre a commencé. Rechargez la page pour voir où en est le paiement.",
    subscription_state: "L’état de l’abonnement ne le permet pas. Rechargez la page pour voir où il en est.",
    plan_code_taken: "Une autre formule porte déjà ce code. Choisissez-en un autre.",
    parameter_missing: "Il manque quelque chose. Remplissez chaque champ et réessayez.",
    parameter_invalid: "Une saisie n’est pas valable. Vérifiez-la et réessayez.",
    amount_out_of_range: "Ce montant ne peut pas être payé. Retournez à la boutique et modifiez la commande.",
    currency_unsupported: "Cette monnaie n’est pas acceptée ici. Retournez à la boutique.",
    payment_method_unavailable: "Ce moyen de paiement n’est pas disponible pour cet achat. Choisissez-en un autre.",
    quantity_out_of_range: "Cette quantité n’est pas possible. Revenez en arrière et choisissez-en une plus petite.",
    plan_inactive: "Cette offre est terminée. Retournez à la boutique et choisissez-en une autre.",
    test_card_required: "Seules les cartes de test fonctionnent dans le bac à sable. Ne saisissez jamais une vraie carte : prenez un des numéros de test.",
    idempotency_key_reused: "Cette commande a changé depuis son envoi. Retournez à la boutique et commandez à nouveau.",
    parameter_unknown: "Le service de paiement ne connaît pas un des champs envoyés. Prévenez la boutique.",
    rate_limited: "Il y a eu trop d’essais en peu de temps. Attendez une minute, puis réessayez.",
    internal_error: "Le service de paiement est en panne. Attendez un instant, puis réessayez.",
    unavailable: "La boutique ne peut pas interroger le prestataire de paiement pour le moment. Si vous avez payé, votre paiement est bien pris en compte. Attendez un instant, puis réessayez.",
  },
  declines: {
    insufficient_funds: "Le solde de ce compte est insuffisant. Rechargez-le ou payez autrement.",
    rejected_by_payer: "La demande a été refusée. Réessayez et acceptez-la, ou payez autrement.",
    payer_timeout: "La demande sur le téléphone est restée sans réponse. Réessayez avec le téléphone en main.",
    provider_unavailable: "Votre opérateur ne répond pas pour le moment. Réessayez dans un instant ou payez autrement.",
    incorrect_otp: "Le code à usage unique n’était pas correct. Réessayez : vous en recevrez un nouveau.",
    incorrect_cvc: "Le code de sécurité n’est pas correct. Vérifiez les 3 ou 4 chiffres sur la carte.",
    expired_card: "Cette carte a expiré. Vérifiez sa date ou utilisez une autre carte.",
    processing_error: "La banque a rencontré un problème. Réessayez dans un instant ou payez autrement.",
    authentication_required: "La banque demande l’accord du client. Demandez-lui de faire lui-même ce paiement.",
    payer_not_found: "Ce numéro n’a pas de compte mobile money. Utilisez un autre numéro ou payez autrement.",
    limit_exceeded: "Ce paiement dépasse le plafond de votre compte. Demandez à votre opérateur ou payez autrement.",
    fraud_blocked: "Votre opérateur n’autorise pas ce paiement. Demandez-lui pourquoi ou payez autrement.",
    generic_decline: "La banque a refusé ce paiement. Demandez-lui pourquoi ou payez autrement.",
  },
  lateApproval: {
    until: "Nous ne savons pas encore si votre opérateur a pris l’argent : il peut accepter ce paiement jusqu’à {time}. Si vous payez une seconde fois et que les deux paiements réussissent, l’un des deux vous est remboursé.",
    open: "Nous ne savons pas encore si votre opérateur a pris l’argent. Si vous payez une seconde fois et que les deux paiements réussissent, l’un des deux vous est remboursé.",
    paid: "Vous avez payé. Votre opérateur peut encore accepter une tentative précédente, jusqu’à {time} : s’il le fait, cet argent vous est remboursé.",
  },
  otherwise: "Un problème est survenu. Réessayez ; s’il revient, retournez à la boutique et signalez-le.",
};

/** The sentences of a language: French for `fr…`, English for all others. */
export function words(locale) {
  return /^fr/i.test(String(locale)) ? fr : en;
}

/**
 * A sentence for an error or a decline: by its code, else by its kind, else a general one. A decline that may still be approved has
 * the sentence of that: `late` is what the payment's own says, and without it only `approvable_until: null` makes a decline final. In
 * the language of a locale, or from a table of the page's own; a sentence that the table lacks is in English.
 */
export function describe(error, locale, late = notJudged(error)) {
  return isDecline(error) && late?.state !== "never" ? sentenceUntil(late?.until, "until", locale) : fromTable(locale, (table) => sentence(error, table));
}

/**
 * The sentence about an attempt of a payment that was declined and may still be approved; `undefined` if there is none. Takes an
 * outcome, or the answer of the merchant's status route: both have `late`. Without it no decline is known to be final.
 */
export function describeLateApproval(payment, locale) {
  const { status, last_payment_error: error, late, approvable_until } = payment ?? {};
  const isTold = error || approvable_until || status === "failed" || status === "canceled";
  if (late ? late.state === "never" : !isTold) return undefined;
  const isPaid = status === "succeeded";
  return isPaid && !late?.until ? undefined : sentenceUntil(late?.until, isPaid ? "paid" : "until", locale);
}

/** What a decline alone says: whether the time that it names has come would need a clock that can be trusted. */
const notJudged = (error) => (error?.approvable_until === null ? { state: "never" } : { state: "open", until: error?.approvable_until });

/** An error of the package has a kind, and one of the browser is an `Error`. One code is in both lists. */
function isDecline(error) {
  if (typeof error?.code !== "string" || error.kind || error instanceof Error) return false;
  return Boolean(own(en.declines, error.code)) || !own(en.codes, error.code);
}

function sentenceUntil(until, key, locale) {
  const time = new Date(typeof until === "number" ? until * 1000 : NaN);
  const isKnown = !Number.isNaN(time.valueOf());
  const name = isKnown ? key : "open";
  return fill(fromTable(locale, ({ lateApproval }) => own(lateApproval, name)), { time: isKnown ? clockTime(time, locale) : "" });
}

/** The time by the customer's clock, with the weekday if it is not today. */
function clockTime(until, locale) {
  const isToday = until.toDateString() === new Date().toDateString();
  const options = { hour: "numeric", minute: "2-digit", ...(!isToday && { weekday: "long" }) };
  const language = typeof locale === "object" ? undefined : locale || "en";
  try {
    return until.toLocaleString(language, options);
  } catch {
    return until.toLocaleString("en", options); // a locale that Intl does not read
  }
}

const fromTable = (locale, read) => read((typeof locale === "object" ? locale : words(locale)) ?? en) || read(en);

function sentence(error, { codes, declines, kinds, otherwise }) {
  const { code, kind } = error ?? {};
  // A decline has no kind. One code is in both lists.
  const coded = kind ? own(codes, code) || own(declines, code) : own(declines, code) || own(codes, code);
  return coded || own(kinds, kind) || otherwise;
}

/** Puts values in the places of a sentence: `fill("Pay {amount}", { amount: "5 000 FCFA" })`. */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (place, name) => own(values, name) ?? place);
}

// The number of decimals of a currency's smallest unit, from the service's own list. Other currencies: by Intl.
const DECIMALS = { XAF: 0, XOF: 0, RWF: 0, UGX: 0, NGN: 2, GHS: 2, KES: 2, USD: 2, EUR: 2 };

/**
 * An amount in the smallest unit, as people write it: `formatMoney("5000", "XAF", "fr")` is
 * "5 000 FCFA". A value that cannot be formatted is returned unchanged.
 */
export function formatMoney(amount, currency, locale) {
  const figure = /^(-?)(\d+)(?:\.(?:0+|(\d+)))?$/.exec(String(amount));
  if (!figure) return `${amount} ${currency}`;
  try {
    const decimals = own(DECIMALS, currency) ?? money(locale, currency).resolvedOptions().maximumFractionDigits;
    // The point is moved in the text: a division would round long amounts.
    const [, sign, whole, rest = ""] = figure;
    const digits = whole.padStart(decimals + 1, "0");
    const point = digits.length - decimals;
    const fraction = digits.slice(point) + rest;
    const shown = { minimumFractionDigits: fraction.length, maximumFractionDigits: fraction.length };
    return money(locale, currency, shown).format(`${sign}${digits.slice(0, point)}.${fraction || "0"}`);
  } catch {
    return `${amount} ${currency}`; // not a currency, or more digits than Intl takes
  }
}

function money(locale, currency, more) {
  const options = { style: "currency", currency, ...more };
  try {
    return new Intl.NumberFormat(locale || "en", options);
  } catch {
    return new Intl.NumberFormat("en", options); // a locale that Intl does not read
  }
}

// A code comes from outside: "constructor" must not find what every object has.
function own(map, key) {
  return typeof key === "string" && Object.hasOwn(map ?? {}, key) ? map[key] : undefined;
}
