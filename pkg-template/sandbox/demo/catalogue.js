// The shop's products and customers. They are invented.

export const SHOP_NAME = "Pas à Pas";
export const COUNTRY = "CM";
export const CURRENCY = "XAF";

const product = (sku, price, name, description) => ({ sku, name, price, currency: CURRENCY, picture: `pictures/${sku}.svg`, description });

/** Prices are whole numbers of the smallest unit. */
export const PRODUCTS = [
  product("trainers", 45_000, { en: "Wouri trainers", fr: "Baskets Wouri" },
    { en: "For the city, and the way home from it.", fr: "Pour la ville, et pour en revenir." }),
  product("runners", 58_000, { en: "Mont Cameroun runners", fr: "Foulées Mont Cameroun" },
    { en: "Light, for the long way up.", fr: "Légères, pour la longue montée." }),
  product("loafers", 39_500, { en: "Bonanjo loafers", fr: "Mocassins Bonanjo" },
    { en: "For the office, and the table after it.", fr: "Pour le bureau, et la table qui le suit." }),
  product("boots", 72_000, { en: "Bamenda boots", fr: "Bottes Bamenda" },
    { en: "For the rainy season.", fr: "Pour la saison des pluies." }),
  product("ballerinas", 27_000, { en: "Akwa ballerinas", fr: "Ballerines Akwa" },
    { en: "Soft leather, for dancing late.", fr: "Un cuir souple, pour danser tard." }),
  product("sandals", 12_500, { en: "Kribi sandals", fr: "Sandales Kribi" },
    { en: "For sand and warm stones.", fr: "Pour le sable et les pierres chaudes." }),
];

export const CUSTOMERS = [
  { id: "awa", email: "awa@example.com", firstname: "Awa", lastname: "Ngono" },
  { id: "paul", email: "paul@example.com", firstname: "Paul", lastname: "Biyik" },
  { id: "fatou", email: "fatou@example.com", firstname: "Fatou", lastname: "Sali" },
];

/** A customer as the pages get it. */
export const publicCustomer = ({ id, email, firstname, lastname }) => ({ id, name: `${firstname} ${lastname}`, email });
