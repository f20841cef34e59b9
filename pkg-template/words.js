// Every sentence a customer may read, in English and French, and how money is written.
//
// A sentence says what happened, then what to do. The two languages hold the same keys: add to
// both. `{name}` in a sentence is a place for `fill`. French keeps a no-break space before : ; ! ?

const en = {
  language: "en",
  page: {
    sandbox: "Sandbox: no real money moves",
    language: "Language",
    loading: "Loading your payment",
    pay_title: "Payment",
    pay_merchant: "Pay {merchant}",
    items: "Your order",

    choose: "How would you like to pay?",
    mobile_money: "Mobile money",
    card: "Bank card",
    card_local: "Card issued in this country",
    card_international: "Card issued abroad",
    fee_included: "of which {fee} fee",
    fee_none: "no fee for you",
    price_of: "{what}: {price}",
    price_missing: "Its price could not be had. Try again, or choose another way.",
    no_methods: "No way to pay is open for this purchase. Go back to the shop and tell them.",

    phone: "Mobile money number",
    phone_help: "With the country code, for example 237 670 00 00 00",
    phone_wrong: "Enter the number with its country code, digits only, for example 237670000000.",
    card_number: "Card number",
    card_number_wrong: "Enter the number on the front of the card: 12 to 19 digits.",
    exp_month: "Month",
    exp_month_help: "MM",
    exp_month_wrong: "Enter the month the card ends: 01 to 12.",
    exp_year: "Year",
    exp_year_help: "YY",
    exp_year_wrong: "Enter the year the card ends: its last two digits.",
    cvc: "Security code",
    cvc_help: "3 or 4 digits",
    cvc_wrong: "Enter the 3 or 4 digits of the security code.",
    otp: "Code your operator sent you",
    otp_help: "Digits only. It may take a moment to arrive.",
    otp_wrong: "Enter the code from the message: digits only.",

    tests: "Test numbers",
    tests_help: "Press one to fill in the form. Nothing is charged.",
    test_success: "succeeds at once",
    test_slow: "succeeds after 30 seconds",
    test_funds: "not enough money: you can try again",
    test_final: "refused for good",
    test_code: "asks for a one-time code",
    test_bank: "sends you to your bank first",
    test_right_code: "the right code",

    pay: "Pay",
    pay_amount: "Pay {amount}",
    pay_up_to: "Pay up to {amount}",
    proceed: "Continue to your bank",
    another: "Pay another way",
    cancel: "Cancel this payment",
    cancel_yes: "Yes, cancel it",
    cancel_no: "No, keep it",
    leave: "Back to the shop",
    leave_unpaid: "Back to the shop without paying",
    leave_soon: "We are taking you back to the shop in a few seconds.",
    stay: "Stay on this page",
    may_close: "You may close this page.",
    again: "Try again",

    sending: "Sending your payment",
    sending_text: "One moment. Please keep this page open.",
    waiting: "Confirm on your phone",
    waiting_text: "A request is on its way to your phone. Open it and enter your mobile money code.",
    waiting_card: "Your bank is checking",
    waiting_card_text: "This takes a few seconds. Please keep this page open.",
    waiting_unknown: "Your payment is on its way",
    waiting_unknown_text: "Please keep this page open, and do not pay a second time.",
    waiting_long: "Nothing on your phone yet? Wake its screen and look at your messages. It may take a minute or two.",
    waiting_very_long: "It is taking longer than usual. You may leave this page: the shop will know when the payment is done. Do not pay a second time.",
    code: "Enter the code you were sent",
    code_text: "Your operator sends a one-time code to your phone. Nothing is charged until you enter it.",
    bank: "Your bank asks you to confirm",
    bank_text: "Continue to your bank’s page and confirm there; it brings you back here. Nothing is charged until then.",
    cancel_asked: "Cancel this payment?",
    cancel_asked_text: "Nothing has been charged. Once canceled, it cannot be taken up again: you would start a new one from the shop.",
    canceling: "Canceling your payment",
    canceling_text: "One moment. Please keep this page open.",

    succeeded: "Payment received",
    succeeded_text: "You paid {amount}. Thank you.",
    settled: "This purchase is already paid",
    settled_text: "You paid {amount}. There is nothing more to do.",
    declined: "The payment did not go through",
    declined_text: "Nothing was charged.",
    attempts_left_1: "You can try once more on this page.",
    attempts_left_2: "You can try two more times on this page.",
    failed: "This payment was refused",
    failed_text: "Nothing was charged. Go back to the shop and order again, if possible with another card or number.",
    canceled: "This payment was canceled",
    canceled_text: "Nothing was charged. If you still want it, go back to the shop and order again.",
    expired: "The time to pay is over",
    expired_text: "Nothing was charged. If you still want it, go back to the shop and order again.",
    confirm: "The shop completes this payment",
    confirm_text: "Your way of paying is noted. Nothing more to do here: the shop takes the last step.",
    step_unknown: "This way of paying asks for a step that this page cannot show. Nothing was charged. Choose another way.",
    uncertain: "We have lost sight of your payment",
    uncertain_text: "It may be under way. Do not pay a second time: we keep looking, and this page will say how it ended.",
    link_wrong: "This payment link does not work",
    link_wrong_text: "It is incomplete, or no longer valid. Go back to the shop and start the payment from there.",
    trouble: "Something went wrong",
    status_unknown: "The payment's state is “{status}”. Ask the shop before you pay again.",
  },
  kinds: {
    secret_key: "This page holds a key that belongs on the shop's server. Do not pay here, and tell the shop. (Shop: use a session token in pages, and replace that key.)",
    input: "Something that was entered is not right. Check it and try again.",
    signed_out: "You are signed out. Sign in and try again.",
    session: "Your session has ended. Sign in again, then try once more.",
    refused: "The payment service refused this. Try again, or go back to the shop.",
    not_found: "This payment is not known. Go back to the shop and start it again from there.",
    offline: "No answer came. Check your connection and try again.",
    timeout: "The answer took too long. Try again; you will not be charged twice.",
    unreadable: "The payment service answered in a way this page cannot read. Wait a moment and try again.",
    address: "The address to go to is missing or not one this page may follow. Go back to the shop by yourself. (Shop: check redirect_url and checkoutOrigins.)",
    settled: "This purchase has already come to its end. Look at your order before you pay again.",
    unsupported: "This cannot be done here. Choose another way, or ask the shop.",
    wasm_blocked: "This browser may not run a part that paying needs (WebAssembly). Update it or use another browser. (Shop: allow 'wasm-unsafe-eval' in script-src.)",
    panic: "This page has met a fault of its own. Reload it, and look at your order before you pay again.",
  },
  codes: {
    invalid_json: "The payment service could not read what was sent. Reload the page and try again.",
    invalid_utf8: "Some characters could not be read. Enter them again with the usual letters and digits.",
    body_not_object: "The payment service could not read what was sent. Reload the page and try again.",
    authentication_required: "This page may not do that without signing in. Sign in, or go back to the shop and start again.",
    invalid_key: "The payment service does not know the shop's key. Tell the shop. (Shop: check the key and the address it is sent to.)",
    live_key_in_sandbox: "A key for real money was used in the sandbox. Tell the shop. (Shop: use a test key here.)",
    session_unknown: "Your session is not known. Sign in again.",
    session_expired: "Your session has run out. Sign in again.",
    session_revoked: "You have signed out. Sign in again.",
    session_token_required: "This needs a customer's session. Sign in and try again.",
    role_required: "This page is not allowed to do that. Go back to the shop. (Shop: make this call on your server.)",
    secret_key_in_browser: "This page holds a key that belongs on the shop's server. Do not pay here, and tell the shop. (Shop: replace that key.)",
    resource_missing: "This payment is not known. Go back to the shop and start it again from there.",
    route_not_found: "The payment service does not offer this. Ask the shop. (Shop: check the base address.)",
    method_not_allowed: "The payment service does not offer this. Ask the shop. (Shop: check the base address.)",
    uncertain: "It is not certain whether your payment was begun. Do not pay again: ask the shop first.",
    payment_mismatch: "This payment is not the one that the shop asked for. Do not pay, and tell the shop.",
    service_failed: "The shop could not reach the payment service. Nothing was charged. Try again in a moment.",
    cross_site: "This page may not ask the shop that. Open the shop itself and try again.",
    body_too_large: "Too much was sent at once. Shorten what you entered and try again.",
    body_too_slow: "Your connection is too slow to send this. Try again where it is better.",
    unsupported_media_type: "The payment service could not read what was sent. Reload the page and try again.",
    merchant_reference_conflict: "The order has changed since its payment began. Go back to the shop and order again.",
    intent_not_confirmable: "This payment can no longer be made, or another attempt is under way. Reload the page to see where it stands.",
    intent_not_cancelable: "This payment can no longer be canceled. Reload the page to see where it stands.",
    subscription_state: "The subscription's state does not allow this. Reload the page to see where it stands.",
    plan_code_taken: "Another plan already has this code. Choose another code.",
    parameter_missing: "Something is missing. Fill in every field and try again.",
    parameter_invalid: "Something that was entered is not right. Check it and try again.",
    amount_out_of_range: "This amount cannot be paid. Go back to the shop and change the order.",
    currency_unsupported: "This currency cannot be paid here. Go back to the shop.",
    payment_method_unavailable: "This way of paying is not open for this purchase. Choose another one.",
    quantity_out_of_range: "This quantity is not possible. Go back and choose a smaller one.",
    plan_inactive: "This offer has ended. Go back to the shop and choose another one.",
    test_card_required: "Only test cards work in the sandbox. Never enter a real card: take one of the test numbers.",
    idempotency_key_reused: "This order has changed since it was sent. Go back to the shop and order again.",
    parameter_unknown: "The payment service does not know one of the fields that were sent. Tell the shop.",
    rate_limited: "There were too many tries in a short time. Wait a minute, then try again.",
    internal_error: "The payment service has a fault. Wait a moment, then try again.",
    unavailable: "The payment service is not available just now. Wait a moment, then try again.",
  },
  declines: {
    insufficient_funds: "There is not enough money in this account. Top it up, or pay another way.",
    rejected_by_payer: "The request was turned down. Try again and accept it, or pay another way.",
    payer_timeout: "The request on the phone was not answered in time. Try again with the phone at hand.",
    provider_unavailable: "Your operator does not answer just now. Try again in a moment, or pay another way.",
    incorrect_otp: "The one-time code was not right. Try again: you are sent a new one.",
    incorrect_cvc: "The security code is not right. Check the 3 or 4 digits on the card.",
    expired_card: "This card has expired. Check its date, or use another card.",
    processing_error: "The bank had a fault. Try again in a moment, or pay another way.",
    authentication_required: "The bank wants the customer's word for it. Ask them to pay this one themselves.",
    payer_not_found: "This number has no mobile money account. Use another number, or pay another way.",
    limit_exceeded: "This payment is over your account's limit. Ask your operator, or pay another way.",
    fraud_blocked: "Your operator does not allow this payment. Ask them why, or pay another way.",
    generic_decline: "The bank refused this payment. Ask your bank why, or pay another way.",
  },
  otherwise: "Something went wrong. Try again; if it happens again, go back to the shop and tell them.",
};

const fr = {
  language: "fr",
  page: {
    sandbox: "Bac à sable : aucun argent réel ne circule",
    language: "Langue",
    loading: "Chargement de votre paiement",
    pay_title: "Paiement",
    pay_merchant: "Payer {merchant}",
    items: "Votre commande",

    choose: "Comment souhaitez-vous payer ?",
    mobile_money: "Mobile money",
    card: "Carte bancaire",
    card_local: "Carte émise dans ce pays",
    card_international: "Carte émise à l’étranger",
    fee_included: "dont {fee} de frais",
    fee_none: "sans frais pour vous",
    price_of: "{what} : {price}",
    price_missing: "Son prix n’a pas pu être obtenu. Réessayez ou choisissez un autre moyen.",
    no_methods: "Aucun moyen de paiement n’est ouvert pour cet achat. Retournez à la boutique et signalez-le.",

    phone: "Numéro mobile money",
    phone_help: "Avec l’indicatif du pays, par exemple 237 670 00 00 00",
    phone_wrong: "Saisissez le numéro avec l’indicatif du pays, en chiffres, par exemple 237670000000.",
    card_number: "Numéro de carte",
    card_number_wrong: "Saisissez le numéro au recto de la carte : 12 à 19 chiffres.",
    exp_month: "Mois",
    exp_month_help: "MM",
    exp_month_wrong: "Saisissez le mois d’expiration : de 01 à 12.",
    exp_year: "Année",
    exp_year_help: "AA",
    exp_year_wrong: "Saisissez l’année d’expiration : ses deux derniers chiffres.",
    cvc: "Code de sécurité",
    cvc_help: "3 ou 4 chiffres",
    cvc_wrong: "Saisissez les 3 ou 4 chiffres du code de sécurité.",
    otp: "Code envoyé par votre opérateur",
    otp_help: "Des chiffres seulement. Il peut mettre un instant à arriver.",
    otp_wrong: "Saisissez le code du message : des chiffres seulement.",

    tests: "Numéros de test",
    tests_help: "Appuyez sur un numéro pour remplir le formulaire. Rien n’est débité.",
    test_success: "réussit aussitôt",
    test_slow: "réussit après 30 secondes",
    test_funds: "solde insuffisant : on peut réessayer",
    test_final: "refusé définitivement",
    test_code: "demande un code à usage unique",
    test_bank: "passe d’abord par votre banque",
    test_right_code: "le bon code",

    pay: "Payer",
    pay_amount: "Payer {amount}",
    pay_up_to: "Payer jusqu’à {amount}",
    proceed: "Continuer vers votre banque",
    another: "Payer autrement",
    cancel: "Annuler ce paiement",
    cancel_yes: "Oui, annuler",
    cancel_no: "Non, le garder",
    leave: "Retour à la boutique",
    leave_unpaid: "Retour à la boutique sans payer",
    leave_soon: "Nous vous ramenons à la boutique dans quelques secondes.",
    stay: "Rester sur cette page",
    may_close: "Vous pouvez fermer cette page.",
    again: "Réessayer",

    sending: "Envoi de votre paiement",
    sending_text: "Un instant. Gardez cette page ouverte.",
    waiting: "Confirmez sur votre téléphone",
    waiting_text: "Une demande arrive sur votre téléphone. Ouvrez-la et saisissez votre code mobile money.",
    waiting_card: "Votre banque vérifie",
    waiting_card_text: "Cela prend quelques secondes. Gardez cette page ouverte.",
    waiting_unknown: "Votre paiement est en cours",
    waiting_unknown_text: "Gardez cette page ouverte et ne payez pas une seconde fois.",
    waiting_long: "Toujours rien sur votre téléphone ? Allumez son écran et regardez vos messages. Cela peut prendre une minute ou deux.",
    waiting_very_long: "C’est plus long que d’habitude. Vous pouvez quitter cette page : la boutique saura quand le paiement sera fait. Ne payez pas une seconde fois.",
    code: "Saisissez le code reçu",
    code_text: "Votre opérateur envoie un code à usage unique sur votre téléphone. Rien n’est débité tant que vous ne l’avez pas saisi.",
    bank: "Votre banque demande une confirmation",
    bank_text: "Continuez vers la page de votre banque et confirmez-y ; elle vous ramène ici. Rien n’est débité avant.",
    cancel_asked: "Annuler ce paiement ?",
    cancel_asked_text: "Rien n’a été débité. Une fois annulé, il ne peut pas être repris : il faudrait en commencer un autre depuis la boutique.",
    canceling: "Annulation de votre paiement",
    canceling_text: "Un instant. Gardez cette page ouverte.",

    succeeded: "Paiement reçu",
    succeeded_text: "Vous avez payé {amount}. Merci.",
    settled: "Cet achat est déjà payé",
    settled_text: "Vous avez payé {amount}. Vous n’avez plus rien à faire.",
    declined: "Le paiement n’est pas passé",
    declined_text: "Rien n’a été débité.",
    attempts_left_1: "Vous pouvez encore essayer une fois sur cette page.",
    attempts_left_2: "Vous pouvez encore essayer deux fois sur cette page.",
    failed: "Ce paiement a été refusé",
    failed_text: "Rien n’a été débité. Retournez à la boutique et commandez à nouveau, si possible avec une autre carte ou un autre numéro.",
    canceled: "Ce paiement a été annulé",
    canceled_text: "Rien n’a été débité. Si vous le souhaitez toujours, retournez à la boutique et commandez à nouveau.",
    expired: "Le délai pour payer est passé",
    expired_text: "Rien n’a été débité. Si vous le souhaitez toujours, retournez à la boutique et commandez à nouveau.",
    confirm: "La boutique termine ce paiement",
    confirm_text: "Votre moyen de paiement est noté. Vous n’avez plus rien à faire ici : la boutique fait le dernier pas.",
    step_unknown: "Ce moyen de paiement demande une étape que cette page ne sait pas montrer. Rien n’a été débité. Choisissez un autre moyen.",
    uncertain: "Nous avons perdu de vue votre paiement",
    uncertain_text: "Il est peut-être en cours. Ne payez pas une seconde fois : nous continuons de regarder, et cette page dira comment il s’est terminé.",
    link_wrong: "Ce lien de paiement ne fonctionne pas",
    link_wrong_text: "Il est incomplet ou n’est plus valable. Retournez à la boutique et recommencez le paiement depuis là.",
    trouble: "Un problème est survenu",
    status_unknown: "L’état du paiement est « {status} ». Demandez à la boutique avant de payer à nouveau.",
  },
  kinds: {
    secret_key: "Cette page contient une clé qui doit rester sur le serveur de la boutique. Ne payez pas ici et prévenez la boutique. (Boutique : utilisez un jeton de session dans les pages et remplacez cette clé.)",
    input: "Une saisie n’est pas correcte. Vérifiez-la et réessayez.",
    signed_out: "Vous êtes déconnecté. Connectez-vous et réessayez.",
    session: "Votre session est terminée. Reconnectez-vous, puis réessayez.",
    refused: "Le service de paiement a refusé. Réessayez ou retournez à la boutique.",
    not_found: "Ce paiement est inconnu. Retournez à la boutique et recommencez depuis là.",
    offline: "Aucune réponse. Vérifiez votre connexion et réessayez.",
    timeout: "La réponse a trop tardé. Réessayez ; vous ne serez pas débité deux fois.",
    unreadable: "Le service de paiement a répondu d’une façon que cette page ne sait pas lire. Attendez un instant et réessayez.",
    address: "L’adresse où aller manque, ou cette page ne peut pas la suivre. Retournez vous-même à la boutique. (Boutique : vérifiez redirect_url et checkoutOrigins.)",
    settled: "Cet achat est déjà arrivé à son terme. Regardez votre commande avant de payer à nouveau.",
    unsupported: "Cela ne peut pas se faire ici. Choisissez un autre moyen ou demandez à la boutique.",
    wasm_blocked: "Ce navigateur ne peut pas exécuter un élément nécessaire au paiement (WebAssembly). Mettez-le à jour ou utilisez-en un autre. (Boutique : autorisez 'wasm-unsafe-eval' dans script-src.)",
    panic: "Cette page a rencontré une panne. Rechargez-la et regardez votre commande avant de payer à nouveau.",
  },
  codes: {
    invalid_json: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    invalid_utf8: "Certains caractères sont illisibles. Saisissez-les à nouveau avec les lettres et chiffres habituels.",
    body_not_object: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    authentication_required: "Cette page ne peut pas faire cela sans connexion. Connectez-vous, ou retournez à la boutique et recommencez.",
    invalid_key: "Le service de paiement ne connaît pas la clé de la boutique. Prévenez la boutique. (Boutique : vérifiez la clé et l’adresse à laquelle elle est envoyée.)",
    live_key_in_sandbox: "Une clé pour de l’argent réel a été utilisée dans le bac à sable. Prévenez la boutique. (Boutique : utilisez ici une clé de test.)",
    session_unknown: "Votre session est inconnue. Reconnectez-vous.",
    session_expired: "Votre session a expiré. Reconnectez-vous.",
    session_revoked: "Vous vous êtes déconnecté. Reconnectez-vous.",
    session_token_required: "Il faut pour cela la session d’un client. Connectez-vous et réessayez.",
    role_required: "Cette page n’a pas le droit de faire cela. Retournez à la boutique. (Boutique : faites cet appel sur votre serveur.)",
    secret_key_in_browser: "Cette page contient une clé qui doit rester sur le serveur de la boutique. Ne payez pas ici et prévenez la boutique. (Boutique : remplacez cette clé.)",
    resource_missing: "Ce paiement est inconnu. Retournez à la boutique et recommencez depuis là.",
    route_not_found: "Le service de paiement ne propose pas cela. Demandez à la boutique. (Boutique : vérifiez l’adresse de base.)",
    method_not_allowed: "Le service de paiement ne propose pas cela. Demandez à la boutique. (Boutique : vérifiez l’adresse de base.)",
    uncertain: "Il n’est pas certain que votre paiement ait commencé. Ne payez pas une seconde fois : demandez d’abord à la boutique.",
    payment_mismatch: "Ce paiement n’est pas celui que la boutique a demandé. Ne payez pas, et prévenez la boutique.",
    service_failed: "La boutique n’a pas pu joindre le service de paiement. Rien n’a été débité. Réessayez dans un instant.",
    cross_site: "Cette page ne peut pas demander cela à la boutique. Ouvrez la boutique elle-même et réessayez.",
    body_too_large: "L’envoi est trop grand. Raccourcissez votre saisie et réessayez.",
    body_too_slow: "Votre connexion est trop lente pour cet envoi. Réessayez là où elle est meilleure.",
    unsupported_media_type: "Le service de paiement n’a pas pu lire l’envoi. Rechargez la page et réessayez.",
    merchant_reference_conflict: "La commande a changé depuis le début de son paiement. Retournez à la boutique et commandez à nouveau.",
    intent_not_confirmable: "Ce paiement n’est plus possible, ou un autre essai est en cours. Rechargez la page pour voir où il en est.",
    intent_not_cancelable: "Ce paiement ne peut plus être annulé. Rechargez la page pour voir où il en est.",
    subscription_state: "L’état de l’abonnement ne le permet pas. Rechargez la page pour voir où il en est.",
    plan_code_taken: "Une autre formule porte déjà ce code. Choisissez-en un autre.",
    parameter_missing: "Il manque quelque chose. Remplissez chaque champ et réessayez.",
    parameter_invalid: "Une saisie n’est pas correcte. Vérifiez-la et réessayez.",
    amount_out_of_range: "Ce montant ne peut pas être payé. Retournez à la boutique et modifiez la commande.",
    currency_unsupported: "Cette monnaie n’est pas acceptée ici. Retournez à la boutique.",
    payment_method_unavailable: "Ce moyen de paiement n’est pas ouvert pour cet achat. Choisissez-en un autre.",
    quantity_out_of_range: "Cette quantité n’est pas possible. Revenez en arrière et choisissez-en une plus petite.",
    plan_inactive: "Cette offre est terminée. Retournez à la boutique et choisissez-en une autre.",
    test_card_required: "Seules les cartes de test fonctionnent dans le bac à sable. Ne saisissez jamais une vraie carte : prenez un des numéros de test.",
    idempotency_key_reused: "Cette commande a changé depuis son envoi. Retournez à la boutique et commandez à nouveau.",
    parameter_unknown: "Le service de paiement ne connaît pas un des champs envoyés. Prévenez la boutique.",
    rate_limited: "Il y a eu trop d’essais en peu de temps. Attendez une minute, puis réessayez.",
    internal_error: "Le service de paiement est en panne. Attendez un instant, puis réessayez.",
    unavailable: "Le service de paiement n’est pas disponible pour le moment. Attendez un instant, puis réessayez.",
  },
  declines: {
    insufficient_funds: "Le solde de ce compte est insuffisant. Rechargez-le ou payez autrement.",
    rejected_by_payer: "La demande a été refusée. Réessayez et acceptez-la, ou payez autrement.",
    payer_timeout: "La demande sur le téléphone est restée sans réponse. Réessayez avec le téléphone en main.",
    provider_unavailable: "Votre opérateur ne répond pas pour le moment. Réessayez dans un instant ou payez autrement.",
    incorrect_otp: "Le code à usage unique n’était pas bon. Réessayez : vous en recevrez un nouveau.",
    incorrect_cvc: "Le code de sécurité n’est pas bon. Vérifiez les 3 ou 4 chiffres sur la carte.",
    expired_card: "Cette carte a expiré. Vérifiez sa date ou utilisez une autre carte.",
    processing_error: "La banque a eu une panne. Réessayez dans un instant ou payez autrement.",
    authentication_required: "La banque demande l’accord du client. Demandez-lui de payer lui-même.",
    payer_not_found: "Ce numéro n’a pas de compte mobile money. Utilisez un autre numéro ou payez autrement.",
    limit_exceeded: "Ce paiement dépasse le plafond de votre compte. Demandez à votre opérateur ou payez autrement.",
    fraud_blocked: "Votre opérateur n’autorise pas ce paiement. Demandez-lui pourquoi ou payez autrement.",
    generic_decline: "La banque a refusé ce paiement. Demandez-lui pourquoi ou payez autrement.",
  },
  otherwise: "Un problème est survenu. Réessayez ; s’il revient, retournez à la boutique et signalez-le.",
};

/** The sentences of a language: French for `fr…`, English for all others. */
export function words(locale) {
  return String(locale ?? "").slice(0, 2).toLowerCase() === "fr" ? fr : en;
}

/** A sentence for an error or a decline: by its code, else by its kind, else a general one. */
export function describe(error, locale) {
  const { codes, declines, kinds, otherwise } = words(locale);
  const { code, kind } = error ?? {};
  return own(codes, code) ?? own(declines, code) ?? own(kinds, kind) ?? otherwise;
}

/** Puts values in the places of a sentence: `fill("Pay {amount}", { amount: "5 000 FCFA" })`. */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (place, name) => own(values, name) ?? place);
}

// How many decimals the smallest unit stands for; the service's own list. Others: by Intl.
const DECIMALS = { XAF: 0, XOF: 0, RWF: 0, UGX: 0, NGN: 2, GHS: 2, KES: 2, USD: 2, EUR: 2 };

/**
 * An amount in the smallest unit, as people write it: `formatMoney("5000", "XAF", "fr")` is
 * "5 000 FCFA". What cannot be formatted is shown as it came.
 */
export function formatMoney(amount, currency, locale) {
  const figure = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(amount));
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
  return typeof key === "string" && Object.hasOwn(map, key) ? map[key] : undefined;
}
