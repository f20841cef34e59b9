<?php
declare(strict_types=1);
// A shop's server in PHP 8.2 without a framework: its page, the three routes that `guichet` in the
// page calls, and a command for cron that settles payments. README.md says how to run it,
// docs/shop.md why it does what it does. Replace the demo's customers, products and sign-in.
use Guichet\Ledger\{Ledger, Store};
use function Guichet\Ledger\{address_of, all_found, connect, execute, is_mysql, profile_of};

foreach (['', '_profile', '_store', '_run'] as $part) {
    require __DIR__ . "/ledger$part.php";
}
define('KEY', secret_key());
define('PROFILE', profile_of('GUICHET_PROFILE', 'GUICHET_BASE_URL')); // how the service differs
define('SERVICE', address_of(PROFILE['base_url'], KEY));
define('GATEWAY', address_of(PROFILE['gateway_url'] ?? SERVICE, KEY)); // creates payments
define('PUBLIC_URL', getenv('GUICHET_PUBLIC_URL') ?: SERVICE); // the same, as browsers name it
define('SHOP', origin('SHOP_URL') ?? 'http://127.0.0.1:8000'); // this server, as browsers name it
define('PAGE', origin('SHOP_ORIGIN') ?? SHOP); // the page's origin, if it is not this server's
define('CHECKOUT', checkout_origins());
define('DATABASE', getenv('SHOP_DATABASE') ?: __DIR__ . '/shop.sqlite');
const TIMEOUT = 10; // of a call to the service, in seconds
// `{key}` is a short text that is compared byte by byte, `{ignore}` skips what is there.
const TABLES = "
    CREATE TABLE IF NOT EXISTS customers (
        id {key} PRIMARY KEY, firstname TEXT NOT NULL, lastname TEXT NOT NULL, verified_email TEXT,
        phone TEXT);
    INSERT {ignore} INTO customers VALUES
        ('awa', 'Awa', 'Ngono', 'awa@example.com', NULL),
        ('fatou', 'Fatou', 'Sali', NULL, '237670000000'),
        ('paul', 'Paul', 'Biyik', 'paul@example.com', NULL);
    CREATE TABLE IF NOT EXISTS products (
        id {key} PRIMARY KEY, amount TEXT NOT NULL, en TEXT NOT NULL, fr TEXT NOT NULL);
    INSERT {ignore} INTO products VALUES
        ('trainers', '45000', 'Wouri trainers', 'Baskets Wouri'),
        ('sandals', '12500', 'Kribi sandals', 'Sandales Kribi');
    CREATE TABLE IF NOT EXISTS orders (
        id {key} PRIMARY KEY, customer_id {key} NOT NULL, basket {key} NOT NULL,
        product_id {key} NOT NULL, placed_at BIGINT NOT NULL, version BIGINT NOT NULL,
        state TEXT NOT NULL, paid_by TEXT, refunds_due TEXT NOT NULL,
        UNIQUE (customer_id, basket, product_id))";

// An origin as browsers write it, since `Origin` is compared with it.
function origin(string $name, ?string $text = null): ?string {
    $text = strtolower(rtrim($text ?? (getenv($name) ?: ''), '/'));
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

// The origins to which a customer without script may be sent to pay.
function checkout_origins(): array {
    $origin = fn(string $text) => origin('`checkout_origins` of GUICHET_PROFILE', $text);
    return array_map($origin, PROFILE['checkout_origins'])
        ?: [implode('/', array_slice(explode('/', PUBLIC_URL), 0, 3))];
}

function database(): PDO {
    static $database = null;
    [$user, $password] = [getenv('SHOP_DATABASE_USER'), getenv('SHOP_DATABASE_PASSWORD')];
    return $database ??= connect(DATABASE, $user ?: null, $password ?: null);
}
function query(string $sql, mixed ...$values): PDOStatement {
    $is_mysql = is_mysql(database());
    $words = ['{key}' => $is_mysql ? 'VARBINARY(255)' : 'TEXT'];
    $words += ['{ignore}' => $is_mysql ? 'IGNORE' : 'OR IGNORE'];
    return execute(database(), strtr($sql, $words), $values);
}
function ledger(): Ledger {
    $alarm = fn(string $about) => log_line("the ledger needs a person: $about");
    static $ledger = null;
    $former = getenv('GUICHET_FORMER_SECRET_KEY') ?: null; // that KEY has replaced
    $hands = [send(...), order_changed(...), $alarm];
    $of = ['former_key' => $former, 'profile' => PROFILE];
    return $ledger ??= new Ledger(new Store(database()), KEY, ...$hands, ...$of);
}

// Whom payments belong to: an account by its own id, never an e-mail address.
function owner(array $customer): array {
    return ['customer' => (string) $customer['id']];
}

// POST /guichet/session
function create_session(array $customer): array {
    $email = $customer['verified_email'];
    $email ?? throw new Refused(403, 'email_not_verified', 'The customer has no verified e-mail.');
    $data = call_service('/sessions/create', json_encode(['customer_email' => $email]));
    $is_theirs = equal_emails($data['customer_email'] ?? null, $email);
    $has_token = is_string($data['session_token'] ?? null);
    ($is_theirs && $has_token) || throw mismatch('A session', 'is about somebody else');
    keep_token($data['session_token']);
    return array_intersect_key($data, ['session_token' => 0, 'expires_at' => 0]);
}

// Ends session tokens of a customer who signs out. What fails is logged: a token expires by itself.
function end_tokens(array $tokens): void {
    foreach ($tokens as $token) {
        try {
            call_service('/sessions/revoke', '', $token);
        } catch (Refused) {
            continue;
        }
    }
}

// POST /guichet/intents. The page names a product and its basket. The server sets price, customer
// and the order's name. The ledger stores what it will send before it sends it: the same order is
// the same payment, also if this process is killed here.
function create_intent(array $customer, array $wanted): array {
    [$name, $purchase] = purchase($customer, $wanted);
    $done = ledger()->click(owner($customer), $name, $purchase);
    ['order' => $order, 'answer' => $answer, 'reply' => $reply] = $done;
    isset($answer['error']) && throw refusal($answer['error'], $reply);
    $led = current($answer); // to where it is paid, or to the payment that has paid the order
    $sealed = $led['address']['sealed'] ?? null;
    $address = $sealed === null ? $led['address']['plain'] ?? null : ledger()->opened($sealed);
    $unavailable = ['status' => 503, 'code' => 'unavailable'];
    isset($answer['lead']) && $address === null && throw refusal($unavailable, null);
    // A form is sent on by this server, and only to where the service's customers pay.
    $leads = fn(string $origin) => str_starts_with($address, "$origin/");
    $is_safe = !is_form() || $address === null || array_filter(CHECKOUT, $leads) !== [];
    $is_safe || throw mismatch($led['reference'], 'leads to another site');
    $of_it = fn(array $one) => $one[1]['id'] === $led['id'];
    [$payment, $found] = current(array_filter(all_found($order), $of_it));
    $intent = ['id' => $led['id'], 'checkout_url' => $address];
    $intent += ['payment_ref' => $found['payment_ref'] ?? $led['id']];
    $intent += ['merchant_reference' => $led['reference'], 'status' => $found['status']];
    return ['intent' => $intent, 'return_nonce' => $payment['nonce']];
}

// GET /guichet/intents/{payment_ref}. Another customer's payment is answered like an unknown one.
function read_status(array $customer, string $payment_ref): array {
    $shown = ['status', 'last_payment_error', 'approvable_until', 'merchant_reference'];
    $shown = [...$shown, 'amount', 'amount_payable', 'plus_fee', 'as_of', 'late'];
    return array_intersect_key(read_payment($customer, [$payment_ref]), array_flip($shown));
}
function read_payment(array $customer, array $names): array {
    $read = ledger()->read(owner($customer), $names);
    $read ?? throw new Refused(404, 'resource_missing', 'There is no such payment.');
    ['payment' => $payment, 'found' => $found, 'reply' => $reply] = $read;
    $is_read = isset($reply['got']['payment']);
    $is_read || throw refusal(['status' => 502, 'code' => 'service_failed'], $reply);
    ['id' => $id, 'reference' => $named] = $reply['got']['payment'];
    $is_other = $id !== $found['id'] || ($named ?? $payment['reference']) !== $payment['reference'];
    $is_other = $is_other || $found['state'] === 'different';
    $is_other && throw mismatch($payment['reference'], 'is about something else');
    // A success that does not say how much of which currency has paid nothing yet.
    $is_unpaid = $found['state'] === 'open' && $reply['data']['status'] === 'succeeded';
    $is_unpaid && throw refusal(['status' => 502, 'code' => 'payment_unclear'], null);
    $data = ['merchant_reference' => $payment['reference'], 'as_of' => $reply['date']];
    $data += ['age' => $read['now'] - $payment['created_at']] + $reply['data'];
    ['amount' => $amount, 'payable' => $payable] = $reply['got']['payment'];
    $data = ['amount' => $amount, 'amount_payable' => $payable ??= $payment['quote']] + $data;
    // Who bears a fee of an unknown amount pays more than the price.
    $has_fee = ($payment['body']['fee_bearer'] ?? '') === 'customer';
    $data += $has_fee && $payable === null ? ['plus_fee' => true] : [];
    $data['late'] = late_approval($data, $data['as_of'], $read['final_since']);
    return $data;
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
// So cron runs this every few seconds. A payment that is old or final is read less often.
function settle_due(): void {
    $round = ledger()->settle();
    $round['is_elsewhere'] && log_line('Another run is settling. This one ends.');
    foreach ($round['not_readable'] ?? [] as [$reference, $id]) {
        log_line("Look for $reference (" . ($id ?? 'no id') . ') at the payment company.');
    }
}

// What an order has become, from the ledger: at least once, in no promised order, also to two
// servers at once. An order becomes paid here and nowhere else, once.
function order_changed(array $changed): void {
    ['name' => $name, 'version' => $version, 'state' => $state, 'paid_by' => $by] = $changed;
    [$refunds, $id] = [$changed['refunds_due'], substr($name, strlen('ORDER-'))];
    do {
        $order = query('SELECT * FROM orders WHERE id = ?', $id)->fetch();
        if (!$order || $order['version'] >= $version) {
            return;
        }
        $sql = 'UPDATE orders SET version = ?, state = ?, paid_by = ?, refunds_due = ?
            WHERE id = ? AND version = ?';
        $values = [$version, $state, $by['reference'] ?? null, json_encode($refunds)];
    } while (query($sql, ...$values, ...[$id, $order['version']])->rowCount() === 0);
    if ($state !== $order['state'] && $state === 'paid') {
        log_line("$name is paid."); // ship it
    }
    $odd = ['paid_other_sum' => 'with another sum', 'paid_after_end' => 'after its end'];
    if ($state !== $order['state'] && isset($odd[$state])) {
        log_line("$name is paid {$odd[$state]}: a person decides."); // no goods leave
    }
    // An operator approved an attempt late, and the customer had paid by another attempt or by the
    // order's next payment. The interface has no refund: make it with the payment company.
    $named = fn(array $refund) => $refund['id']
        . (isset($refund['attempt']) ? ", attempt $refund[attempt]" : ''); // or the whole payment
    $known = array_map($named, json_decode($order['refunds_due'], true));
    foreach ($refunds as $refund) {
        $fee = $refund['plus_fee'] ?? false ? ' and the fee' : '';
        $sum = "$refund[amount] $refund[currency]$fee";
        $due = "$name: a refund of $sum is due ({$named($refund)}).";
        in_array($named($refund), $known, true) || log_line($due);
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
    $sql = "INSERT {ignore} INTO orders
        SELECT ?, ?, ?, id, ?, 0, 'unpaid', NULL, '[]' FROM products WHERE id = ?";
    $now = (int) (microtime(true) * 1_000_000);
    query($sql, bin2hex(random_bytes(8)), $customer['id'], $basket, $now, $product);
    $sql = 'SELECT * FROM orders WHERE customer_id = ? AND basket = ? AND product_id = ?';
    return query($sql, $customer['id'], $basket, $product)->fetch() ?: throw $missing;
}

// The order's name in the ledger, and what it costs this customer today: it is asked at every
// click. The ledger decides whether that is a new payment; an open one is repeated as it was.
function purchase(array $customer, array $wanted): array {
    $order = order_of($customer, $wanted);
    $name = "ORDER-$order[id]"; // a second payment of it is ORDER-…-1
    $product = query('SELECT * FROM products WHERE id = ?', $order['product_id'])->fetch();
    if (!$product) {
        return [$name, 'order_ended'];
    }
    $costs = ['amount' => $product['amount'], 'currency' => 'XAF', 'fee_bearer' => 'customer'];
    $language = $_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '';
    $costs += ['description' => $product[stripos($language, 'fr') === 0 ? 'fr' : 'en']];
    $costs += ['firstname' => $customer['firstname'], 'lastname' => $customer['lastname']];
    $email = $customer['verified_email'];
    $costs += $email ? ['email' => $email] : ['phone' => $customer['phone']];
    $is_form = str_starts_with($order['basket'], 'next:');
    $costs += ['redirect_url' => $is_form ? SHOP . '/guichet/return' : PAGE . '/'];
    json_encode($costs) ?: throw new Exception("$name has a text that is not UTF-8.");
    return [$name, compact('costs')];
}

// Sends requests of the ledger at the same time, with the key, a session token, or the payment's
// client secret, which no log shows. It follows no redirect.
function send(array $requests, #[SensitiveParameter] string $token = KEY): array {
    $multi = curl_multi_init();
    $handles = [];
    foreach ($requests as $request) {
        [$method, $target, $body, $bearer, $secret] = $request + [3 => null, null];
        $base = $target === '/v1/payment-intents' ? GATEWAY : SERVICE;
        $handles[] = $handle = curl_init($base . $target);
        curl_setopt_array($handle, [CURLOPT_CUSTOMREQUEST => $method, CURLOPT_PRIVATE => $secret]);
        $bearer = 'authorization: Bearer ' . ($bearer ?? $token);
        curl_setopt($handle, CURLOPT_HTTPHEADER, [$bearer, 'content-type: application/json']);
        curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
        curl_setopt($handle, CURLOPT_HEADER, true);
        curl_setopt($handle, CURLOPT_TIMEOUT, TIMEOUT);
        curl_setopt($handle, CURLOPT_PROXY, ''); // or it reads `http_proxy`, and a proxy the key
        $method === 'GET' || curl_setopt($handle, CURLOPT_POSTFIELDS, $body ?? '');
        curl_multi_add_handle($multi, $handle);
    }
    do {
        curl_multi_exec($multi, $running);
    } while ($running && curl_multi_select($multi) !== false);
    return array_map(reply_of(...), $handles);
}

// A reply's status, data, `Date` and `Retry-After`, and what a page gets if it refuses, whose cause
// the log gets.
function reply_of(CurlHandle $handle): array {
    ['url' => $url, 'http_code' => $status, 'header_size' => $size] = curl_getinfo($handle);
    $text = (string) curl_multi_getcontent($handle);
    [$head, $json] = [substr($text, 0, $size), ltrim(substr($text, $size), "\xef\xbb\xbf")];
    [$body, $open] = [json_decode($json, true), json_decode($json)];
    $header = fn($name) => preg_match("/^$name: *([^\r\n]+)/mi", $head, $it) ? $it[1] : '';
    $retry_after = ctype_digit($header('retry-after')) ? (int) $header('retry-after') : null;
    $reply = ['status' => $status ?: null, 'date' => strtotime($header('date')) ?: null];
    $reply += ['retry_after' => $retry_after, 'data' => null, 'refused' => null];
    $reply['hangs'] = curl_getinfo($handle, CURLINFO_TOTAL_TIME) >= TIMEOUT;
    // Some services answer a refusal with 200: what it says is believed.
    $code = is_int($body['status_code'] ?? null) ? $body['status_code'] : 0;
    $is_error = ($body['response_type'] ?? '') === 'error' || ($body['success'] ?? null) === false;
    if ($status >= 200 && $status < 300 && is_array($body) && !$is_error && $code < 400) {
        $data = $body['data'] ?? $body;
        $is_list = is_array($open->data ?? $open); // `{}` is none
        return ['data' => is_array($data) ? $data : [], 'is_list' => $is_list] + $reply;
    }
    $is_named = $status >= 200 && $status < 300 && $code >= 400 && $code < 600;
    $reply['status'] = $is_named ? $code : $reply['status']; // else it does not say what was done
    $error = $body['error'] ?? null;
    $cause = [$error['code'] ?? null, $error['request_id'] ?? null, $body['message'] ?? null];
    $cause = is_array($body) ? implode(' ', array_filter($cause, is_scalar(...))) : 'no JSON';
    $secret = (string) curl_getinfo($handle, CURLINFO_PRIVATE);
    log_line(str_replace([$secret, rawurlencode($secret)], '***', "$url: $status $cause"));
    // Also if it refuses the key: a 401 would tell the page that nobody is signed in.
    $of = fn(int $status) => in_array($status, [429, 503], true) ? $status : 502;
    $refused = refused_by_service(is_array($body) ? $of($reply['status'] ?? 503) : 503);
    return ['refused' => $refused] + $reply;
}
function call_service(string $path, string $body, #[SensitiveParameter] $token = KEY): array {
    [['data' => $data, 'refused' => $refused]] = send([['POST', "/v1$path", $body]], $token);
    return $refused === null ? $data : throw $refused;
}
function refused_by_service(int $status): Refused {
    return match ($status) {
        429 => new Refused(429, 'rate_limited', 'The payment service is busy. Please try again.'),
        503 => new Refused(503, 'unavailable', 'The payment cannot be confirmed just now.'),
        default => new Refused(502, 'service_failed', 'The payment service refused the request.'),
    };
}

// An error of the ledger for a page: the service's own, if a call brought nothing.
function refusal(array $error, ?array $reply): Refused {
    ['status' => $status, 'code' => $code] = $error;
    $message = match ($code) {
        'order_missing' => 'There is no such order.',
        'order_ended' => 'The shop no longer sells this.',
        'payment_mismatch' => 'The payment is not the one of this order.',
        'parameter_invalid' => 'The e-mail address or phone number is none that can be used.',
        'too_many_open_payments' => 'You have 20 unpaid payments. Pay or cancel one of them first.',
        'internal_error' => 'The shop could not do this.',
        'payment_unclear' => 'The shop cannot confirm your payment yet. Do not pay again.',
        default => null,
    };
    $is_unread = ($reply['got'] ?? null) === 'lost' && $reply['data'] !== null;
    return match (true) {
        $message !== null => new Refused($status, $code, $message),
        // That the service refuses a repeat is no answer to a click.
        $status === 503 && intdiv($reply['status'] ?? 0, 100) === 4 => refused_by_service(503),
        default => $reply['refused'] ?? refused_by_service($is_unread ? 502 : $status),
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

function mismatch(string $what, string $why): Refused {
    log_line("$what: the service's reply $why. Look at it by hand.");
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
        $request === 'GET /guichet/return' => read_payment($signed_in(), names_of_address()),
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
function is_form(): bool { return content_type() === 'application/x-www-form-urlencoded'; }
function read_body(): array {
    return is_form() ? $_POST : read_json();
}
// By what the address names the payment: `guichet_return`, which every company hands back, then
// what it may have added, also after a second `?`.
function names_of_address(): array {
    $text = parse_url($_SERVER['REQUEST_URI'], PHP_URL_QUERY) ?: '';
    parse_str(str_replace('?', '&', $text), $query);
    $named = ['guichet_return', 'payment_ref', 'payment_intent'];
    return array_filter(array_map(fn($of) => $query[$of] ?? null, $named), is_string(...));
}

function read_json(): array {
    $text = file_get_contents('php://input', length: 65_537);
    $json = strlen($text) <= 65_536 ? json_decode($text, true) : null;
    is_array($json) || throw new Refused(400, 'invalid_json', 'This is no JSON, or too long.');
    return $json;
}

function show_shop(?string $customer): array {
    $sql = 'SELECT id, basket, product_id, paid_by, refunds_due FROM orders
        WHERE customer_id = ? ORDER BY placed_at';
    $shown = fn(array $order) => ['refunds' => count(json_decode($order['refunds_due']))] + $order;
    $orders = array_map($shown, query($sql, $customer)->fetchAll());
    $customers = query('SELECT id FROM customers ORDER BY id')->fetchAll(PDO::FETCH_COLUMN);
    $products = query('SELECT * FROM products')->fetchAll();
    $service = ['base_url' => PUBLIC_URL, 'checkout_origins' => CHECKOUT];
    return $service + compact('customer', 'customers', 'orders', 'products');
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
    $state = in_array($state, ['unavailable', 'rate_limited'], true) ? 'service_failed' : $state;
    $is_open = in_array($state, ['failed', 'canceled', 'requires_action'], true);
    $is_final = $status >= 400 || in_array($state, ['succeeded', 'failed', 'canceled'], true);
    $sentence = $texts[$is_open && $is_late ? 'late' : $state] ?? null;
    $amount = $body['amount_payable'] ?? ($body['amount'] ?? '');
    $fee = isset($body['plus_fee']) ? " $texts[plus_fee]" : '';
    $payment = $amount ? "$body[merchant_reference], $amount XAF$fee" : '';
    if (!$is_final || ($is_open && $is_late)) {
        header('refresh: ' . min(30, 3 + intdiv(max(0, $body['age']), 60)));
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
try {
    query('SELECT version FROM orders LIMIT 1')->fetch();
} catch (PDOException) {
    array_map(fn(string $sql) => query($sql), explode(';', TABLES));
}
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
    $code = $error instanceof PDOException ? $error->errorInfo[1] ?? 0 : 0;
    $is_locked = in_array($code, [5, 1205, 1213], true); // in SQLite, and in MySQL
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
    $intent = $body['intent'] ?? ['checkout_url' => "$from/", 'payment_ref' => ''];
    $paid = '/guichet/return?payment_ref=' . rawurlencode($intent['payment_ref']);
    return header('location: ' . ($intent['checkout_url'] ?? $paid), true, 303);
}
header('content-type: application/json', response_code: $status);
$flags = JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE;
echo str_replace(KEY, '***', json_encode($body, $flags));
