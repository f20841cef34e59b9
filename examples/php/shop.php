<?php declare(strict_types=1);
// A shop's server in PHP 8.2 without a framework: its page, the three routes that `guichet` in the page calls, and a command for
// cron that settles payments. README.md says how to run it. Replace `CUSTOMERS`, `PRODUCTS` and the demo's sign-in by your own.

define('SERVICE', getenv('GUICHET_BASE_URL') ?: 'http://127.0.0.1:4243'); // the sandbox
define('SHOP', getenv('SHOP_URL') ?: 'http://127.0.0.1:8000'); // this server, as browsers name it
define('DATABASE', getenv('SHOP_DATABASE') ?: __DIR__ . '/shop.sqlite');
define('KEY', getenv('GUICHET_SECRET_KEY') ?: '');
const PRODUCTS = [
    'trainers' => ['amount' => '45000', 'en' => 'Wouri trainers', 'fr' => 'Baskets Wouri'],
    'sandals' => ['amount' => '12500', 'en' => 'Kribi sandals', 'fr' => 'Sandales Kribi'],
];
const CUSTOMERS = [
    'awa@example.com' => ['email' => 'awa@example.com', 'firstname' => 'Awa', 'lastname' => 'Ngono'],
    'paul@example.com' => ['email' => 'paul@example.com', 'firstname' => 'Paul', 'lastname' => 'Biyik'],
];
const TABLES = '
    CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, customer TEXT NOT NULL, basket TEXT NOT NULL, product TEXT NOT NULL, amount TEXT NOT NULL,
        declines INTEGER NOT NULL DEFAULT 0, paid_by TEXT, UNIQUE (customer, basket, product));
    CREATE TABLE IF NOT EXISTS payments (
        merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, declines INTEGER NOT NULL, customer TEXT NOT NULL,
        body TEXT NOT NULL, return_nonce TEXT NOT NULL, created_at INTEGER NOT NULL, intent TEXT, payment_ref TEXT UNIQUE,
        read_at INTEGER NOT NULL DEFAULT 0, final_since INTEGER, is_over INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS refunds_due (
        intent TEXT, attempt TEXT, order_id TEXT NOT NULL, amount TEXT, currency TEXT, PRIMARY KEY (intent, attempt))';

function query(string $sql, mixed ...$values): PDOStatement {
    static $database = new PDO('sqlite:' . DATABASE, options: [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
    $statement = $database->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function create_session(array $customer): array { // POST /guichet/session
    $data = call_service('/sessions/create', json_encode(['customer_email' => $customer['email']]));
    $is_theirs = equal_emails($data['customer_email'] ?? null, $customer['email']);
    $is_theirs && is_string($data['session_token'] ?? null) || throw mismatch('a session');
    return ['session_token' => $data['session_token'], 'expires_at' => $data['expires_at'] ?? null];
}

// POST /guichet/intents. The page names a product and its basket. The server sets price, customer and reference, and stores what it
// will send before it sends it. So the same order is the same payment, also if this process is killed here.
function create_intent(array $customer, array $wanted): array {
    $payment = payment_of(order_of($customer, $wanted), $customer);
    $reference = $payment['merchant_reference'];
    $data = call_service('/payment-intents', $payment['body'], ["idempotency-key: $reference"]);
    verify_and_settle($payment, $data);
    is_string($data['checkout_url'] ?? null) || throw mismatch($reference);
    $data['payment_ref'] ??= $data['id'];
    $sql = 'UPDATE payments SET intent = ?, payment_ref = ? WHERE merchant_reference = ?';
    query($sql, $data['id'], $data['payment_ref'], $reference);
    $shown = ['id' => 0, 'checkout_url' => 0, 'payment_ref' => 0, 'merchant_reference' => 0, 'status' => 0];
    return ['intent' => array_intersect_key($data, $shown), 'return_nonce' => $payment['return_nonce']];
}

function read_status(array $customer, string $payment_ref): array { // GET /guichet/intents/{payment_ref}
    $payment = query('SELECT * FROM payments WHERE payment_ref = ? AND customer = ?', $payment_ref, $customer['email'])->fetch();
    $payment || throw new Refused(404, 'resource_missing', 'There is no such payment.'); // or it is another customer's
    $data = call_service('/payment-intents/' . rawurlencode($payment['intent']));
    verify_and_settle($payment, $data);
    return ['status' => $data['status'], 'last_payment_error' => $data['last_payment_error'] ?? null];
}

// The service calls no webhook, and a customer who pays and closes the tab sends no further request. So cron runs this every few
// seconds. A payment that is old or final is read less often.
function settle_due(): void {
    $due = 'intent IS NOT NULL AND is_over = 0 AND read_at <= ?';
    foreach (query("SELECT * FROM payments WHERE $due ORDER BY read_at LIMIT 200", time())->fetchAll() as $payment) {
        $pause = $payment['final_since'] ? 60 : min(30, intdiv(time() - $payment['created_at'], 60));
        query('UPDATE payments SET read_at = ? WHERE merchant_reference = ?', time() + $pause, $payment['merchant_reference']);
        try {
            verify_and_settle($payment, call_service('/payment-intents/' . rawurlencode($payment['intent'])));
        } catch (Throwable $error) { // a later run reads the payment again
            $error instanceof Refused || log_line((string) $error); // a Refused was logged with its cause
        }
    }
}

function order_of(array $customer, array $wanted): array {
    ['id' => $basket, 'product' => $product] = $wanted + ['id' => null, 'product' => null];
    $is_known = is_string($basket) && preg_match('/^[\w-]{1,64}$/D', $basket) && is_string($product) && isset(PRODUCTS[$product]);
    $is_known || throw new Refused(404, 'order_missing', 'There is no such order.');
    $order = [bin2hex(random_bytes(8)), $customer['email'], $basket, $product, PRODUCTS[$product]['amount']];
    query('INSERT OR IGNORE INTO orders (id, customer, basket, product, amount) VALUES (?, ?, ?, ?, ?)', ...$order);
    $sql = 'SELECT * FROM orders WHERE customer = ? AND basket = ? AND product = ?';
    return query($sql, $customer['email'], $basket, $product)->fetch();
}

function payment_of(array $order, array $customer): array {
    $reference = "ORDER-$order[id]" . ($order['declines'] ? ".$order[declines]" : ''); // the next one after a final decline
    $nonce = nonce($reference); // the return page matches the return by it
    $body = json_encode([...$customer, 'merchant_reference' => $reference, 'amount' => $order['amount'], 'currency' => 'XAF',
        'description' => PRODUCTS[$order['product']]['en'], 'fee_bearer' => 'customer',
        'redirect_url' => SHOP . "/?guichet_return=$nonce"]);
    $columns = 'merchant_reference, order_id, declines, customer, body, return_nonce, created_at';
    $values = [$reference, $order['id'], $order['declines'], $customer['email'], $body, $nonce, time()];
    query("INSERT OR IGNORE INTO payments ($columns) VALUES (?, ?, ?, ?, ?, ?, ?)", ...$values);
    return query('SELECT * FROM payments WHERE merchant_reference = ?', $reference)->fetch();
}

// Whether the service speaks of the payment that was sold: same intent, reference, amount, currency and owner.
function verify(array $payment, array $data): void {
    $sold = json_decode($payment['body'], true);
    $is_the_one_sold = is_string($data['id'] ?? null) && in_array($payment['intent'], [null, $data['id']], true)
        && ($data['merchant_reference'] ?? null) === $payment['merchant_reference'] && is_string($data['status'] ?? null)
        && in_array($data['amount'] ?? null, [$sold['amount'], (int) $sold['amount']], true)
        && ($data['currency'] ?? null) === $sold['currency'] && equal_emails($data['customer']['email'] ?? null, $sold['email']);
    $is_the_one_sold || throw mismatch($payment['merchant_reference']);
}

// Stores what the service says about a payment. An order becomes paid here and nowhere else, once.
function verify_and_settle(array $payment, array $data): void {
    verify($payment, $data);
    ['merchant_reference' => $reference, 'order_id' => $order, 'declines' => $declines] = $payment;
    ['id' => $id, 'status' => $status] = $data;
    if ($status === 'succeeded') {
        $is_new = query('UPDATE orders SET paid_by = ? WHERE id = ? AND paid_by IS NULL', $reference, $order)->rowCount();
        $is_new && log_line("$reference is paid."); // ship it
    } elseif ($status === 'failed' || $status === 'canceled') { // final: the order's next payment gets the next reference
        query('UPDATE orders SET declines = declines + 1 WHERE id = ? AND declines = ? AND paid_by IS NULL', $order, $declines);
    }
    // An operator approved an attempt late, after the customer had paid by another attempt or by the order's next payment. The
    // interface has no refund: make it with the payment company.
    $paid_twice = is_array($data['duplicate_payments'] ?? null) ? $data['duplicate_payments'] : [];
    $paid_by = query('SELECT paid_by FROM orders WHERE id = ?', $order)->fetchColumn();
    if ($status === 'succeeded' && $paid_by !== $reference) $paid_twice[] = ['attempt' => 'successful'] + $data;
    foreach ($paid_twice as ['attempt' => $attempt, 'amount' => $amount, 'currency' => $currency]) {
        $due = [$id, $attempt, $order, $amount, $currency];
        $is_new = query('INSERT OR IGNORE INTO refunds_due VALUES (?, ?, ?, ?, ?)', ...$due)->rowCount();
        $is_new && log_line("$reference: a refund of $amount $currency is due ($id, attempt $attempt).");
    }
    if (!in_array($status, ['succeeded', 'failed', 'canceled'], true)) return;
    // Only a declined attempt can be approved late, and only for a day: read until then, and once more after it.
    $nothing_was_declined = ($data['attempts'] ?? PHP_INT_MAX) <= ($status === 'succeeded' ? 1 : 0);
    $since = $payment['final_since'] ?? time();
    $is_over = $nothing_was_declined || time() - $since > 24 * 60 * 60;
    query('UPDATE payments SET final_since = ?, is_over = ? WHERE merchant_reference = ?', $since, (int) $is_over, $reference);
}

// Calls the service with the key. The log gets the cause of a failure; the page gets an error that it can act on.
function call_service(string $path, ?string $body = null, array $headers = []): array {
    $headers = [...$headers, 'authorization: Bearer ' . KEY, 'content-type: application/json'];
    $options = [CURLOPT_HTTPHEADER => $headers, CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10];
    $curl = curl_init($url = SERVICE . "/v1$path");
    curl_setopt_array($curl, $options + ($body === null ? [] : [CURLOPT_POSTFIELDS => $body])); // which makes it a POST
    $text = curl_exec($curl);
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    $reply = is_string($text) ? json_decode($text, true) : null;
    if ($status < 300 && is_array($reply)) return is_array($reply['data'] ?? null) ? $reply['data'] : [];
    $cause = [$reply['error']['code'] ?? null, $reply['error']['request_id'] ?? null, $reply['message'] ?? null];
    log_line("$url: $status " . (is_array($reply) ? json_encode($cause) : (curl_error($curl) ?: 'no JSON')));
    throw match (is_array($reply) ? $status : 503) {
        429 => new Refused(429, 'rate_limited', 'The payment service is busy. Please try again.'),
        503 => new Refused(503, 'unavailable', 'The payment service does not answer. Please try again.'),
        // Also if it refuses the key: a 401 would tell the page that nobody is signed in.
        default => new Refused(502, 'service_failed', "The payment service refused the shop's request. Please ask the shop."),
    };
}

// An error response in the service's format, which `guichet` in the page reads.
class Refused extends Exception {
    public array $body;
    public function __construct(public int $status, string $code, string $message) {
        parent::__construct($message);
        $error = ['code' => $code, 'errors' => [], 'request_id' => null, 'retryable' => $status === 429 || $status === 503];
        $this->body = ['status_code' => $status, 'response_type' => 'error', ...compact('message', 'error'), 'data' => null];
    }
}

function mismatch(string $what): Refused {
    log_line("$what: the service's reply is about something else. Look at it by hand.");
    return new Refused(409, 'payment_mismatch', 'The payment is not the one of this order. Please ask the shop.');
}
function equal_emails(mixed $a, string $b): bool { return is_string($a) && strtolower($a) === strtolower($b); }
// 22 characters of [0-9A-Za-z], the same each time for one reference.
function nonce(string $reference): string {
    $number = unpack('C*', hash_hmac('sha256', $reference, hash_hmac('sha256', 'guichet return key', KEY, true), true));
    for ($text = ''; strlen($text) < 43; $text = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'[$rest] . $text) {
        $rest = 0;
        foreach ($number as &$byte) [$byte, $rest] = [intdiv($rest * 256 + $byte, 62), ($rest * 256 + $byte) % 62];
    }
    return substr($text, 0, 22);
}

// Logs without the key, and without characters of others' texts that could forge a line or control a terminal.
function log_line(string $text): void { error_log(substr(preg_replace('/[^ -~]/', '?', str_replace(KEY, '***', $text)), 0, 500)); }

// From here on: what a framework does (sessions, routes, the same-origin check), and the demo's page and sign-in.
function answer(string $request, string $path): array {
    own_pages_only();
    session_start(['name' => 'shop', 'use_strict_mode' => true, 'cookie_httponly' => true, 'cookie_samesite' => 'Lax',
        'cookie_secure' => str_starts_with(SHOP, 'https:'), 'read_and_close' => !str_starts_with($path, '/sign-')]);
    $customer = CUSTOMERS[$_SESSION['email'] ?? ''] ?? null;
    $signed_in = fn (): array => $customer ?? throw new Refused(401, 'authentication_required', 'Nobody is signed in.');
    return match (true) {
        $request === 'POST /guichet/session' => create_session($signed_in()),
        $request === 'POST /guichet/intents' => create_intent($signed_in(), read_json()),
        str_starts_with($request, 'GET /guichet/intents/') => read_status($signed_in(), rawurldecode(substr($path, 17))),
        $request === 'GET /shop' => show_shop($customer['email'] ?? ''),
        $request === 'POST /sign-in' => sign_in(read_json()['email'] ?? null),
        $request === 'POST /sign-out' => ['signed_out' => session_destroy()],
        default => throw new Refused(404, 'route_not_found', 'This page does not exist.'),
    };
}

// The routes are called with cookies, so only this shop's pages may call them, and only with JSON, which no form can send.
// Browsers set both headers, and no page can change them. A request without either does not come from a page.
function own_pages_only(): void {
    $is_same_origin = in_array($_SERVER['HTTP_SEC_FETCH_SITE'] ?? 'none', ['same-origin', 'none'], true);
    $is_ours = $is_same_origin && ($_SERVER['HTTP_ORIGIN'] ?? SHOP) === SHOP;
    $is_ours || throw new Refused(403, 'cross_site', 'Only the pages of ' . SHOP . ' may call this address.');
    $type = strtolower(trim(explode(';', ($_SERVER['CONTENT_TYPE'] ?? '') ?: 'application/json')[0]));
    $type === 'application/json' || throw new Refused(415, 'unsupported_media_type', 'Send JSON.');
}

function read_json(): array {
    $text = file_get_contents('php://input', length: 65_537);
    $json = strlen($text) <= 65_536 ? json_decode($text, true) : null;
    return is_array($json) ? $json : throw new Refused(400, 'invalid_json', 'The request is no JSON object, or it is too large.');
}

function show_shop(string $customer): array {
    $columns = 'id, basket, product, paid_by, (SELECT count(*) FROM refunds_due WHERE order_id = id) AS refunds';
    $orders = query("SELECT $columns FROM orders WHERE customer = ? ORDER BY rowid", $customer)->fetchAll();
    return ['base_url' => SERVICE, 'customers' => array_keys(CUSTOMERS), 'products' => PRODUCTS] + compact('customer', 'orders');
}

function sign_in(mixed $email): array {
    is_string($email) && isset(CUSTOMERS[$email]) || throw new Refused(422, 'customer_unknown', 'There is no such customer.');
    session_regenerate_id(true);
    return ['email' => $_SESSION['email'] = $email];
}

ini_set('display_errors', '0');
KEY !== '' || throw new Exception('GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).');
array_map(fn (string $table) => query($table), explode(';', TABLES));
if (PHP_SAPI === 'cli') return settle_due(); // php shop.php settle
$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (preg_match('#^/((?:[\w-]+/)*[\w-]+\.(js|css|wasm))?$#D', $path)) return false; // `php -S … -t page` serves the file
try {
    [$status, $body] = [200, answer("$_SERVER[REQUEST_METHOD] $path", $path)];
} catch (Refused $refused) {
    [$status, $body] = [$refused->status, $refused->body];
} catch (Throwable $error) {
    log_line((string) $error);
    [$status, $body] = [500, (new Refused(500, 'internal_error', 'The shop could not do this. Please try again.'))->body];
}
header('content-type: application/json', response_code: $status);
echo str_replace(KEY, '***', json_encode($body, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE));
