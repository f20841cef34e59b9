<?php
declare(strict_types=1);
// A shop's server in PHP 8.2 without a framework: its page, the three routes that `guichet` in the
// page calls, and a command for cron that settles payments. README.md says how to run it,
// docs/shop.md why it does what it does. Replace the demo's customers, products and sign-in.

define('KEY', secret_key());
define('SERVICE', service() ?? 'http://127.0.0.1:4243'); // the sandbox
define('PUBLIC_URL', getenv('GUICHET_PUBLIC_URL') ?: SERVICE); // the same, as browsers name it
define('SHOP', origin('SHOP_URL') ?? 'http://127.0.0.1:8000'); // this server, as browsers name it
define('PAGE', origin('SHOP_ORIGIN') ?? SHOP); // the page's origin, if it is not this server's
define('DATABASE', getenv('SHOP_DATABASE') ?: __DIR__ . '/shop.sqlite');
const PDO_OPTIONS = [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC, PDO::ATTR_TIMEOUT => 5];
const TABLES = "
    CREATE TABLE IF NOT EXISTS customers (
        id TEXT PRIMARY KEY, firstname TEXT NOT NULL, lastname TEXT NOT NULL, verified_email TEXT,
        phone TEXT);
    INSERT OR IGNORE INTO customers VALUES
        ('awa', 'Awa', 'Ngono', 'awa@example.com', NULL),
        ('fatou', 'Fatou', 'Sali', NULL, '237670000000'),
        ('paul', 'Paul', 'Biyik', 'paul@example.com', NULL);
    CREATE TABLE IF NOT EXISTS products (
        id TEXT PRIMARY KEY, amount TEXT NOT NULL, en TEXT NOT NULL, fr TEXT NOT NULL);
    INSERT OR IGNORE INTO products VALUES
        ('trainers', '45000', 'Wouri trainers', 'Baskets Wouri'),
        ('sandals', '12500', 'Kribi sandals', 'Sandales Kribi');
    CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, basket TEXT NOT NULL,
        product_id TEXT NOT NULL, declines INTEGER NOT NULL DEFAULT 0, paid_by TEXT,
        UNIQUE (customer_id, basket, product_id));
    CREATE TABLE IF NOT EXISTS payments (
        merchant_reference TEXT PRIMARY KEY, order_id TEXT NOT NULL, declines INTEGER NOT NULL,
        customer_id TEXT NOT NULL, body TEXT NOT NULL, return_nonce TEXT NOT NULL,
        created_at INTEGER NOT NULL, intent TEXT, payment_ref TEXT UNIQUE, returned_at INTEGER,
        read_at INTEGER NOT NULL DEFAULT 0, final_since INTEGER,
        is_over INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS refunds_due (
        intent TEXT, attempt TEXT, order_id TEXT NOT NULL, amount TEXT, currency TEXT,
        PRIMARY KEY (intent, attempt))";

// An origin as browsers write it, since `Origin` is compared with it.
function origin(string $name): ?string {
    $text = strtolower(rtrim(getenv($name) ?: '', '/'));
    $local = '([\w-]+\.)*localhost|([\w-]+\.)+test|127(\.\d+){3}|\[::1\]';
    $form = "#^(https://[\w.-]+|http://($local))(:\d+)?\$#D";
    $is_one = $text === '' || preg_match($form, $text);
    $is_one || throw new Exception("$name must be an origin, https://shop.example: $text");
    return preg_replace('#^(https.*):443$|^(http:.*):80$#D', '$1$2', $text) ?: null;
}

// What is copied with a key, such as a line end, would make every purchase fail.
function secret_key(): string {
    $key = getenv('GUICHET_SECRET_KEY') ?: '';
    $is_key = preg_match('/^(?!cst_|pi_|pk_|.*["\'`])[!-~]+$/D', $key);
    $what = 'the key of the sandbox (sk_test_…), without spaces, line ends or quotes';
    return $is_key ? $key : throw new Exception("GUICHET_SECRET_KEY must be $what.");
}

// The service's address, without the slash or `/v1` at its end that each call adds. The key is sent
// unencrypted to this machine alone; a test key also to the hosts of GUICHET_PLAIN_HOSTS.
function service(): ?string {
    $text = getenv('GUICHET_BASE_URL') ?: '';
    $is_test = preg_match('/^([sr]k_test_|FLWSECK_TEST)/', KEY);
    $named = $is_test ? explode(',', getenv('GUICHET_PLAIN_HOSTS') ?: '-') : ['-'];
    $named = implode('|', array_map(fn($host) => preg_quote($host, '#'), $named));
    $plain = "http://(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\]|$named)";
    $form = "#^(https://[\w.-]+|$plain)(:\d+)?(/[\w.~/-]*)?$#D";
    $is_one = $text === '' || preg_match($form, $text);
    $what = 'https://api.example.com (http:// is for this machine, or see GUICHET_PLAIN_HOSTS)';
    $is_one || throw new Exception("GUICHET_BASE_URL must be an address: $what.");
    return preg_replace('#/*(/v1)?/*$#D', '', $text) ?: null;
}

function query(string $sql, mixed ...$values): PDOStatement {
    static $database = new PDO('sqlite:' . DATABASE, options: PDO_OPTIONS);
    $statement = $database->prepare($sql);
    $statement->execute($values);
    return $statement;
}

// POST /guichet/session
function create_session(array $customer): array {
    $email = $customer['verified_email'];
    $email ?? throw new Refused(403, 'email_not_verified', 'The customer has no verified e-mail.');
    $data = call_service('/sessions/create', json_encode(['customer_email' => $email]));
    $is_theirs = equal_emails($data['customer_email'] ?? null, $email);
    ($is_theirs && is_string($data['session_token'] ?? null)) || throw mismatch('a session');
    keep_token($data['session_token']);
    return array_intersect_key($data, ['session_token' => 0, 'expires_at' => 0]);
}

// Ends session tokens of a customer who signs out. What fails is logged: a token expires by itself.
function end_tokens(array $tokens): void {
    foreach ($tokens as $token) {
        try {
            call_service('/sessions/revoke', '', token: $token);
        } catch (Refused) {
            continue;
        }
    }
}

// POST /guichet/intents. The page names a product and its basket. The server sets price, customer
// and reference, and stores what it will send before it sends it: the same order is the same
// payment, also if this process is killed here.
function create_intent(array $customer, array $wanted): array {
    $payment = payment_of(order_of($customer, $wanted), $customer);
    $reference = $payment['merchant_reference'];
    $data = call_service('/payment-intents', $payment['body'], ["idempotency-key: $reference"]);
    verify_and_settle($payment, $data);
    is_string($data['checkout_url'] ?? null) || throw mismatch($reference);
    // A form is sent on by this server, and only to the service.
    $service = implode('/', array_slice(explode('/', PUBLIC_URL), 0, 3)) . '/';
    $is_safe = !is_form() || str_starts_with($data['checkout_url'], $service);
    $is_safe || throw mismatch($reference);
    $data['payment_ref'] ??= $data['id'];
    $sql = 'UPDATE payments SET intent = ?, payment_ref = ? WHERE merchant_reference = ?';
    query($sql, $data['id'], $data['payment_ref'], $reference);
    $shown = ['id', 'checkout_url', 'payment_ref', 'merchant_reference', 'status'];
    $intent = array_intersect_key($data, array_flip($shown));
    return ['intent' => $intent, 'return_nonce' => $payment['return_nonce']];
}

// GET /guichet/intents/{payment_ref}. Another customer's payment is answered like an unknown one.
function read_status(array $customer, string $payment_ref): array {
    $found = 'payment_ref = ? AND customer_id = ?';
    $sql = "UPDATE payments SET returned_at = ? WHERE $found RETURNING *";
    $payment = query($sql, time(), $payment_ref, $customer['id'])->fetch();
    $payment || throw new Refused(404, 'resource_missing', 'There is no such payment.');
    $data = call_service('/payment-intents/' . rawurlencode($payment['intent']));
    verify_and_settle($payment, $data);
    ['as_of' => $as_of] = $data;
    $data['late'] = late_approval($data, $as_of, $payment['final_since'] ?? $as_of);
    $shown = ['status', 'last_payment_error', 'approvable_until', 'merchant_reference'];
    $shown = [...$shown, 'amount', 'amount_payable', 'as_of', 'late'];
    return array_intersect_key($data, array_flip($shown));
}

// Whether a declined attempt of a payment may still become money. `as_of` is the `Date` of the
// service's reply, since this server's clock may be wrong. What is not known is open, whatever the
// code: a service may say no more than `failed`, and succeed later.
function late_approval(array $data, ?int $as_of, ?int $final_since): array {
    [$never, $open] = [['state' => 'never'], ['state' => 'open']];
    $status = $data['status'] ?? '';
    $error = $data['last_payment_error'] ?? null;
    $has_word = fn(mixed $of) => is_array($of) && array_key_exists('approvable_until', $of);
    $word_of = fn(mixed $of) => $has_word($of) ? $of['approvable_until'] : 'none';
    $is_under_way = in_array($status, ['processing', 'succeeded'], true);
    $least = (int) ($error !== null || $status === 'failed' || is_int($word_of($data)));
    $unknown = (int) !in_array($status, ['processing', 'succeeded', 'requires_action'], true);
    $attempts = is_int($data['attempts'] ?? null) ? $data['attempts'] - $is_under_way : $unknown;
    $declined = max($attempts, $least);
    $duplicates = $data['duplicate_payments'] ?? null;
    if ($declined <= (is_array($duplicates) ? count($duplicates) : 0)) {
        return $never; // their money was taken: that is known
    }
    foreach ([$data, $declined === 1 ? $error : null] as $of) {
        $until = $word_of($of);
        if ($until === null || (is_int($until) && $as_of !== null && $until <= $as_of)) {
            return $never;
        }
        if (is_int($until)) {
            return $as_of === null ? $open : $open + ['until' => $until];
        }
    }
    $is_its_method = !$is_under_way && ($error !== null || $status === 'failed');
    $is_card = ($data['payment_method']['type'] ?? '') === 'card' && $is_its_method;
    $expires = is_string($data['expires_at'] ?? null) ? $data['expires_at'] : '';
    $is_time = preg_match('/^\d{4}-\d\d-\d\dT/', $expires);
    $end = $final_since ?? ($is_time ? strtotime($expires) : null);
    $is_over = is_int($end) && $as_of !== null && $as_of - $end >= 24 * 60 * 60;
    return $is_over || ($is_card && $declined === 1) ? $never : $open;
}

// The service calls no webhook, and a customer who pays and closes the tab sends no more requests.
// So cron runs this every few seconds. A payment that is old or final is read less often. A run
// reads every customer's first payment before anyone's second, and 8 at a time.
function settle_due(): void {
    $lock = fopen(DATABASE . '.lock', 'c'); // freed when this process ends, or is killed
    if (!flock($lock, LOCK_EX | LOCK_NB)) {
        log_line('Another run is settling. This one ends.');
        return;
    }
    $sql = 'SELECT *, ROW_NUMBER() OVER (
            PARTITION BY customer_id ORDER BY returned_at IS NULL, created_at DESC) AS place
        FROM payments WHERE intent IS NOT NULL AND is_over = 0 AND read_at <= ?
        ORDER BY place, returned_at IS NULL, created_at DESC LIMIT 200';
    foreach (array_chunk(query($sql, time())->fetchAll(), 8) as $payments) {
        $multi = curl_multi_init();
        $requests = array_map(read_request(...), $payments);
        array_map(fn($request) => curl_multi_add_handle($multi, $request), $requests);
        do {
            curl_multi_exec($multi, $running);
        } while ($running && curl_multi_select($multi) !== false);
        foreach (array_map(null, $payments, $requests) as [$payment, $request]) {
            $age = time() - $payment['created_at'];
            $pause = $payment['final_since'] ? 60 : min(30, intdiv($age, 60));
            $sql = 'UPDATE payments SET read_at = ? WHERE merchant_reference = ?';
            query($sql, time() + $pause, $payment['merchant_reference']);
            try {
                verify_and_settle($payment, data_of($request, curl_multi_getcontent($request)));
            } catch (Throwable $error) {
                // A later run reads the payment again. A Refused was logged with its cause.
                $error instanceof Refused || log_line((string) $error);
            }
        }
    }
}

function order_of(array $customer, array $wanted): array {
    ['id' => $basket, 'product' => $product] = $wanted + ['id' => null, 'product' => null];
    $missing = new Refused(404, 'order_missing', 'There is no such order.');
    (is_string($basket) && preg_match('/^[\w-]{1,64}$/D', $basket)) || throw $missing;
    is_string($product) || throw $missing;
    // A form has no number of its own: it means one order of this product, until that is paid. No
    // page can name that order, because of the colon.
    if ($basket === 'next') {
        $sql = "SELECT count(paid_by) FROM orders
            WHERE customer_id = ? AND product_id = ? AND basket LIKE 'next:%'";
        $basket = 'next:' . query($sql, $customer['id'], $product)->fetchColumn();
    }
    $sql = 'INSERT OR IGNORE INTO orders (id, customer_id, basket, product_id)
        SELECT ?, ?, ?, id FROM products WHERE id = ?';
    query($sql, bin2hex(random_bytes(8)), $customer['id'], $basket, $product);
    $sql = 'SELECT * FROM orders WHERE customer_id = ? AND basket = ? AND product_id = ?';
    return query($sql, $customer['id'], $basket, $product)->fetch() ?: throw $missing;
}

// The payment of an order's reference, which is the next one after a final decline, and after a day
// in which the service did not get the payment. What was stored is sent again, so an open payment
// keeps its price. A new reference takes today's.
function payment_of(array $order, array $customer): array {
    $sql = 'SELECT count(*) FROM payments
        WHERE order_id = ? AND intent IS NULL AND final_since IS NULL AND created_at < ?';
    $unsent = query($sql, $order['id'], time() - 24 * 60 * 60)->fetchColumn();
    $number = $order['declines'] + $unsent;
    // A paid order repeats what paid it, which may be a payment that was shown as failed before.
    $reference = $order['paid_by'] ?? "ORDER-$order[id]" . ($number ? ".$number" : '');
    if ($payment = stored_payment($reference, $order)) {
        return $payment;
    }
    $product = query('SELECT * FROM products WHERE id = ?', $order['product_id'])->fetch();
    $product || throw new Refused(409, 'order_ended', 'The shop no longer sells this.');
    ['id' => $id, 'verified_email' => $email, 'phone' => $phone] = $customer;
    $nonce = bin2hex(random_bytes(11)); // the return page matches the return by it
    $body = ['merchant_reference' => $reference, 'amount' => $product['amount']];
    $body += ['currency' => 'XAF', 'fee_bearer' => 'customer'];
    $language = $_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '';
    $body += ['description' => $product[stripos($language, 'fr') === 0 ? 'fr' : 'en']];
    $body += ['firstname' => $customer['firstname'], 'lastname' => $customer['lastname']];
    $body += $email ? ['email' => $email] : ['phone' => $phone];
    $back = str_starts_with($order['basket'], 'next:') ? SHOP . '/guichet/return' : PAGE . '/';
    $body += ['redirect_url' => "$back?guichet_return=$nonce"];
    $text = json_encode($body) ?: throw new Exception("$reference has a text that is not UTF-8.");
    // One statement counts and inserts. What the service did not get is not open for long.
    $sql = 'INSERT OR IGNORE INTO payments
        (merchant_reference, order_id, declines, customer_id, body, return_nonce, created_at)
        SELECT ?, ?, ?, ?, ?, ?, ? WHERE 20 > (SELECT count(*) FROM payments
            WHERE customer_id = ? AND final_since IS NULL
                AND (intent IS NOT NULL OR created_at > ?))';
    $values = [$reference, $order['id'], $order['declines'], $id, $text, $nonce];
    query($sql, ...$values, ...[time(), $id, time() - 60]);
    $message = 'You have 20 unpaid payments. Pay or cancel one of them first.';
    $too_many = new Refused(409, 'too_many_open_payments', $message);
    return stored_payment($reference, $order) ?? throw $too_many;
}

// The payment of this reference. That of another order or customer is answered as an unknown one.
function stored_payment(string $reference, array $order): ?array {
    $payment = query('SELECT * FROM payments WHERE merchant_reference = ?', $reference)->fetch();
    $of = ['order_id' => $order['id'], 'customer_id' => $order['customer_id']];
    $is_theirs = !$payment || !array_diff_assoc($of, $payment);
    $missing = new Refused(404, 'order_missing', 'There is no such order.');
    return $is_theirs ? ($payment ?: null) : throw $missing;
}

// Stores what the service says, if it speaks of the payment that was sold: same intent, reference,
// amount, currency and e-mail. An order becomes paid here and nowhere else, once.
function verify_and_settle(array $payment, array $data): void {
    ['merchant_reference' => $reference, 'order_id' => $order, 'declines' => $declines] = $payment;
    ['id' => $id, 'status' => $status] = $data + ['id' => null, 'status' => null];
    $sold = json_decode($payment['body'], true);
    $names = ['merchant_reference' => 0, 'amount' => 0, 'currency' => 0];
    $said = ['amount' => amount_of($data['amount'] ?? null)] + $data;
    $differs = array_diff_assoc(array_intersect_key($sold, $names), $said); // compares as strings
    $email = $sold['email'] ?? null;
    $is_theirs = !$email || equal_emails($data['customer']['email'] ?? null, $email);
    $is_intent = is_string($id) && in_array($payment['intent'], [null, $id], true);
    ($is_intent && !$differs && $is_theirs && is_string($status)) || throw mismatch($reference);
    $unpaid = 'WHERE id = ? AND paid_by IS NULL';
    if ($status === 'succeeded') {
        $paid = query("UPDATE orders SET paid_by = ? $unpaid", $reference, $order);
        $paid->rowCount() && log_line("$reference is paid."); // ship it
    } elseif ($status === 'failed' || $status === 'canceled') {
        // Final: the order's next payment gets the next reference.
        $sql = "UPDATE orders SET declines = declines + 1 $unpaid AND declines = ?";
        query($sql, $order, $declines);
    }
    // An operator approved an attempt late, and the customer had paid by another attempt or by the
    // order's next payment. The interface has no refund: make it with the payment company.
    $refunds = is_array($data['duplicate_payments'] ?? null) ? $data['duplicate_payments'] : [];
    $paid_by = query('SELECT paid_by FROM orders WHERE id = ?', $order)->fetchColumn();
    if ($status === 'succeeded' && $paid_by !== $reference) {
        $paid = $data['amount_payable'] ?? $data['amount']; // with the fee
        $refunds[] = ['attempt' => 'successful', 'amount' => $paid] + $data;
    }
    foreach ($refunds as $place => $refund) {
        ['amount' => $amount, 'currency' => $currency] = $refund;
        // If the service gives no number, the place in its list, which only grows, stands for it.
        $attempt = $refund['attempt'] ?? 0 ?: 0xffffffff - $place;
        $sql = 'INSERT OR IGNORE INTO refunds_due VALUES (?, ?, ?, ?, ?)';
        $is_new = query($sql, $id, $attempt, $order, $amount, $currency)->rowCount();
        $due = "a refund of $amount $currency is due ($id, attempt $attempt)";
        $is_new && log_line("$reference: $due.");
    }
    // Only a declined attempt can be approved late, and only for a day: read it once more then.
    $nothing_was_declined = ($data['attempts'] ?? PHP_INT_MAX) <= ($status === 'succeeded' ? 1 : 0);
    $since = $payment['final_since'] ?? ($data['as_of'] ?? time());
    $is_over = $nothing_was_declined || time() - $since > 24 * 60 * 60;
    $sql = 'UPDATE payments SET final_since = ?, is_over = ? WHERE merchant_reference = ?';
    $is_final = in_array($status, ['succeeded', 'failed', 'canceled'], true);
    $is_final && query($sql, $since, (int) $is_over, $reference);
}

// An amount is compared by its value, and 45000.00 is 45000. A float would round another one.
function amount_of(mixed $amount): string {
    return preg_replace('/^0*(\d+?)(\.0*)?$/D', '$1', is_scalar($amount) ? "$amount" : '');
}

// A request with the key, or with a session token. It follows no redirect.
function prepare_request(
    string $path,
    ?string $body = null,
    array $headers = [],
    string $token = KEY,
): CurlHandle {
    $request = curl_init(SERVICE . "/v1$path");
    $headers = [...$headers, "authorization: Bearer $token", 'content-type: application/json'];
    curl_setopt($request, CURLOPT_HTTPHEADER, $headers);
    curl_setopt($request, CURLOPT_RETURNTRANSFER, true);
    curl_setopt($request, CURLOPT_HEADER, true);
    curl_setopt($request, CURLOPT_TIMEOUT, 10);
    curl_setopt($request, CURLOPT_PROXY, ''); // or it reads `http_proxy`, and a proxy the key
    $body === null || curl_setopt($request, CURLOPT_POSTFIELDS, $body); // which makes it a POST
    return $request;
}
function read_request(array $payment): CurlHandle {
    return prepare_request('/payment-intents/' . rawurlencode($payment['intent']));
}
function call_service(
    string $path,
    ?string $body = null,
    array $headers = [],
    string $token = KEY,
): array {
    $request = prepare_request($path, $body, $headers, $token);
    return data_of($request, curl_exec($request));
}

// The data of a reply, and its `Date`. The log gets the cause of a failure, the page an error.
function data_of(CurlHandle $request, mixed $text): array {
    ['url' => $url, 'http_code' => $status, 'header_size' => $size] = curl_getinfo($request);
    $reply = is_string($text) ? json_decode(substr($text, $size), true) : null;
    if ($status < 300 && is_array($reply)) {
        $has_date = preg_match('/^date: *([^\r\n]+)/mi', substr($text, 0, $size), $date);
        $as_of = $has_date ? strtotime($date[1]) : false;
        $data = is_array($reply['data'] ?? null) ? $reply['data'] : [];
        return ['as_of' => $as_of === false ? null : $as_of] + $data;
    }
    $error = $reply['error'] ?? null;
    $cause = [$error['code'] ?? null, $error['request_id'] ?? null, $reply['message'] ?? null];
    log_line("$url: $status " . (is_array($reply) ? json_encode($cause) : 'no JSON'));
    throw match (is_array($reply) ? $status : 503) {
        429 => new Refused(429, 'rate_limited', 'The payment service is busy. Please try again.'),
        503 => new Refused(503, 'unavailable', 'The payment service does not answer.'),
        // Also if it refuses the key: a 401 would tell the page that nobody is signed in.
        default => new Refused(502, 'service_failed', 'The payment service refused the request.'),
    };
}

// An error response in the service's format, which `guichet` in the page reads.
class Refused extends Exception {
    public array $body;
    public function __construct(public int $status, string $code, string $message) {
        parent::__construct($message);
        $is_busy = $status === 429 || $status === 503;
        $error = ['code' => $code, 'errors' => [], 'request_id' => null, 'retryable' => $is_busy];
        $this->body = ['status_code' => $status, 'response_type' => 'error', 'data' => null];
        $this->body += compact('message', 'error');
    }
}

function mismatch(string $what): Refused {
    log_line("$what: the service's reply is about something else. Look at it by hand.");
    return new Refused(409, 'payment_mismatch', 'The payment is not the one of this order.');
}
function equal_emails(mixed $a, string $b): bool {
    return is_string($a) && strtolower($a) === strtolower($b);
}
// Logs without the key, and without characters that could forge a line or control a terminal.
function log_line(string $text): void {
    error_log(substr(preg_replace('/[^ -~]/', '?', str_replace(KEY, '***', $text)), 0, 500));
}

// From here on: what a framework does (sessions, routes, the same-origin check), and the demo's
// page and sign-in. PHP keeps its sessions on the server, so signing out ends the login there.
function answer(string $request, string $path): array {
    // A customer comes to it from the service's site. It says nothing that another page could read.
    $request === 'GET /guichet/return' || own_pages_only($request);
    $cookie = ['cookie_httponly' => true, 'cookie_samesite' => 'Lax', 'use_strict_mode' => true];
    $cookie['cookie_secure'] = str_starts_with(SHOP, 'https:');
    $is_login = str_starts_with($path, '/sign-');
    session_start(['name' => 'shop', 'read_and_close' => !$is_login] + $cookie);
    $id = $_SESSION['customer'] ?? '';
    $customer = query('SELECT * FROM customers WHERE id = ?', $id)->fetch() ?: null;
    $nobody = new Refused(401, 'authentication_required', 'Nobody is signed in.');
    $signed_in = fn(): array => $customer ?? throw $nobody;
    $ref = rawurldecode(substr($path, strlen('/guichet/intents/')));
    return match (true) {
        $request === 'POST /guichet/session' => create_session($signed_in()),
        $request === 'POST /guichet/intents' => create_intent($signed_in(), read_body()),
        str_starts_with($request, 'GET /guichet/intents/') => read_status($signed_in(), $ref),
        $request === 'GET /guichet/return' => read_status($signed_in(), payment_of_address()),
        $request === 'GET /shop' => show_shop($customer['id'] ?? null),
        $request === 'POST /sign-in' => sign_in(read_body()['customer'] ?? null),
        $request === 'POST /sign-out' => sign_out(),
        default => throw new Refused(404, 'route_not_found', 'This page does not exist.'),
    };
}

// Only this shop's pages may send the cookie, and only with JSON, or the two forms of the page.
// Browsers set both headers, and no page can change them. A request without either comes from no
// page. A page of another origin (SHOP_ORIGIN) always names it.
function own_pages_only(string $request): void {
    $site = $_SERVER['HTTP_SEC_FETCH_SITE'] ?? 'none';
    $is_ours = match ($_SERVER['HTTP_ORIGIN'] ?? SHOP) {
        SHOP => in_array($site, ['same-origin', 'none'], true),
        PAGE => in_array($site, ['same-site', 'none'], true),
        default => false,
    };
    $message = 'Only pages of ' . implode(' and ', array_unique([SHOP, PAGE])) . ' may call this.';
    $is_ours || throw new Refused(403, 'cross_site', $message);
    $is_form = is_form() && in_array($request, ['POST /guichet/intents', 'POST /sign-in'], true);
    $is_read = $is_form || in_array(content_type(), ['', 'application/json'], true);
    $is_read || throw new Refused(415, 'unsupported_media_type', 'Send JSON.');
}

function content_type(): string {
    return strtolower(trim(explode(';', $_SERVER['CONTENT_TYPE'] ?? '')[0]));
}
function is_form(): bool {
    return content_type() === 'application/x-www-form-urlencoded';
}
function read_body(): array {
    return is_form() ? $_POST : read_json();
}
function payment_of_address(): string {
    $named = $_GET['payment_ref'] ?? ($_GET['payment_intent'] ?? '');
    return is_string($named) ? $named : '';
}

function read_json(): array {
    $text = file_get_contents('php://input', length: 65_537);
    $json = strlen($text) <= 65_536 ? json_decode($text, true) : null;
    is_array($json) || throw new Refused(400, 'invalid_json', 'This is no JSON, or too long.');
    return $json;
}

function show_shop(?string $customer): array {
    $sql = 'SELECT id, basket, product_id, paid_by,
        (SELECT count(*) FROM refunds_due WHERE order_id = id) AS refunds
        FROM orders WHERE customer_id = ? ORDER BY rowid';
    $orders = query($sql, $customer)->fetchAll();
    $customers = query('SELECT id FROM customers ORDER BY id')->fetchAll(PDO::FETCH_COLUMN);
    $products = query('SELECT * FROM products')->fetchAll();
    return ['base_url' => PUBLIC_URL] + compact('customer', 'customers', 'orders', 'products');
}

// A token is kept with its login for the half hour that it lives, so that signing out ends it. If
// the customer has signed out meanwhile, no page gets it.
function keep_token(string $token): void {
    session_start();
    $is_alive = fn(int $made_at): bool => $made_at > time() - 1_800;
    $_SESSION['tokens'] = [$token => time()] + array_filter($_SESSION['tokens'] ?? [], $is_alive);
    if (!isset($_SESSION['customer'])) {
        sign_out();
        throw new Refused(401, 'authentication_required', 'Nobody is signed in.');
    }
    session_write_close();
}
function sign_out(): array {
    session_destroy(); // $_SESSION stays until this request ends
    end_tokens(array_keys($_SESSION['tokens'] ?? []));
    return ['signed_out' => true];
}

function sign_in(mixed $id): array {
    $is_known = is_string($id) && query('SELECT * FROM customers WHERE id = ?', $id)->fetch();
    $is_known || throw new Refused(422, 'customer_unknown', 'There is no such customer.');
    session_regenerate_id(true);
    ['tokens' => $tokens] = $_SESSION + ['tokens' => []]; // of the browser's former login
    $_SESSION = ['customer' => $id];
    end_tokens(array_keys($tokens));
    return ['customer' => $id];
}

// The page of a customer without script: the error of a form, or what is known of a payment. While
// that may change, it loads itself again.
function show_page(int $status, array $body): void {
    $language = stripos($_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '', 'fr') === 0 ? 'fr' : 'en';
    $texts = json_decode(file_get_contents(__DIR__ . '/page/plain.json'), true)[$language];
    $is_late = ($body['late']['state'] ?? '') === 'open';
    $state = $body['status'] ?? $body['error']['code'];
    $is_open = in_array($state, ['failed', 'canceled', 'requires_action'], true);
    $is_final = $status >= 400 || in_array($state, ['succeeded', 'failed', 'canceled'], true);
    $sentence = $texts[$is_open && $is_late ? 'late' : $state] ?? null;
    $amount = $body['amount_payable'] ?? ($body['amount'] ?? '');
    $payment = $amount ? "$body[merchant_reference], $amount XAF" : '';
    if (!$is_final || ($is_open && $is_late)) {
        $sql = 'SELECT created_at FROM payments WHERE merchant_reference = ?';
        $age = time() - query($sql, $body['merchant_reference'])->fetchColumn();
        header('refresh: ' . min(30, 3 + intdiv($age, 60)));
    }
    header("content-security-policy: default-src 'none'; style-src 'self'; frame-ancestors 'none'");
    header('content-type: text/html; charset=utf-8', response_code: $status);
    $sentence ??= $texts[$status >= 400 ? 'error' : 'processing'];
    $shown = compact('language', 'sentence', 'payment') + $texts;
    $names = array_map(fn($name) => '{' . $name . '}', array_keys($shown));
    $filled = array_combine($names, array_map(htmlspecialchars(...), $shown));
    echo strtr(file_get_contents(__DIR__ . '/page/plain.html'), $filled);
}

ini_set('display_errors', '0');
$last_table = query("SELECT * FROM sqlite_master WHERE name = 'refunds_due'")->fetch();
$last_table || array_map(fn(string $sql) => query($sql), explode(';', TABLES));
if (PHP_SAPI === 'cli') {
    if (array_slice($argv, 1) !== ['settle']) {
        fwrite(STDERR, "Usage: php shop.php settle\n");
        exit(2);
    }
    return settle_due();
}
$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$is_file = preg_match('#^/((?:[\w-]+/)*[\w-]+\.(js|css|wasm))?$#D', $path);
if ($is_file) {
    return false; // `php -S … -t page` serves it
}
// The page of SHOP_ORIGIN, and no other, may read the answers, with the cookie.
header('vary: origin');
if (PAGE !== SHOP && ($_SERVER['HTTP_ORIGIN'] ?? '') === PAGE) {
    header('access-control-allow-origin: ' . PAGE);
    header('access-control-allow-credentials: true');
    header('access-control-allow-headers: content-type');
    if ($_SERVER['REQUEST_METHOD'] === 'OPTIONS') {
        return http_response_code(204);
    }
}
try {
    [$status, $body] = [200, answer("$_SERVER[REQUEST_METHOD] $path", $path)];
} catch (Throwable $error) {
    $error instanceof Refused || log_line((string) $error);
    $is_locked = $error instanceof PDOException && ($error->errorInfo[1] ?? 0) === 5;
    $refused = match (true) {
        $error instanceof Refused => $error,
        $is_locked => new Refused(503, 'unavailable', 'The shop is busy. Please try again.'),
        default => new Refused(500, 'internal_error', 'The shop could not do this.'),
    };
    [$status, $body] = [$refused->status, $refused->body];
}
if ($path === '/guichet/return' || (is_form() && $status >= 400)) {
    return show_page($status, $body);
}
if (is_form()) {
    $from = $_SERVER['HTTP_ORIGIN'] ?? '';
    return header('location: ' . ($body['intent']['checkout_url'] ?? "$from/"), true, 303);
}
header('content-type: application/json', response_code: $status);
$flags = JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE;
echo str_replace(KEY, '***', json_encode($body, $flags));
