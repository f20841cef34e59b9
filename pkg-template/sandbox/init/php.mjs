// Starts the payment service and the shop, and settles payments every few seconds. Ctrl-C stops all.
import { start } from "./guichet-sandbox/init/start.js";

start(
  ({ host }) => ({ serve: ["php", "-S", host, "-t", "page", "shop.php"], settle: ["php", "shop.php", "settle"] }),
  { needs: "Install PHP 8.2 or newer with pdo_sqlite, sodium and curl (Debian: apt-get install php-cli php-sqlite3 php-curl)." },
);
