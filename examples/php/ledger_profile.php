<?php
declare(strict_types=1);
// What a payment company does otherwise than the document, or does not say in it: how a payment is read, found and canceled, and
// its words for a status. In PHP what `src/shop/profile.rs` is in Rust; tests/shop/profile.json has the cases. Nothing in a
// profile weakens a rule: amount, currency and reference are compared as always.
namespace Guichet\Ledger;

const PLACES = ['{id}', '{payment_ref}', '{merchant_reference}', '{client_secret}']; // parts of a path that a value replaces
const WORDS = ['requires_action', 'processing', 'succeeded', 'failed', 'canceled'];
const OF_ROUTE = ['method' => ['string'], 'path' => ['string'], 'credential' => ['string']]; // the types of each member
const OF_PROFILE = ['base_url' => ['string'], 'gateway_url' => ['string', 'NULL'], 'checkout_origins' => ['array'],
    'read' => ['object'], 'find_by_reference' => ['object', 'NULL'], 'cancel' => ['object', 'NULL'], 'statuses' => ['object']];
const REQUIRED = ['base_url', 'read', 'method', 'path'];
const METHODS = ['read' => ['GET', 'POST'], 'find_by_reference' => ['GET', 'POST'], 'cancel' => ['POST', 'PUT', 'DELETE']];
const BY_KEY = ['credential' => 'key', 'may_list' => false]; // by the document no reply about one payment is a list
// The service of the document, at the address of the sandbox. It finds no payment by its reference.
const DOCUMENTED = [
    'base_url' => 'http://127.0.0.1:4243', 'gateway_url' => null, 'checkout_origins' => [],
    'read' => ['method' => 'GET', 'path' => '/v1/payment-intents/{id}'] + BY_KEY, 'find_by_reference' => null,
    'cancel' => ['method' => 'POST', 'path' => '/v1/payment-intents/{id}/cancel'] + BY_KEY, 'statuses' => [],
];

// The profile in the file that an environment variable names; without it, the service of the document. An address in the other
// variable, such as that of a sandbox, takes the place of every address of the profile.
function profile_of(string $variable, string $address): array {
    $file = getenv($variable) ?: null;
    $is_there = $file === null || is_readable($file);
    $base_url = getenv($address) ?: null;
    $own = $base_url === null ? [] : compact('base_url') + ['gateway_url' => null, 'checkout_origins' => []];
    try {
        $read = fn() => profile($is_there ? file_get_contents($file) : refuse('The file cannot be read.'));
        return $own + ($file === null ? DOCUMENTED : $read());
    } catch (\InvalidArgumentException $e) {
        throw new \RuntimeException("$variable: {$e->getMessage()}", 0, $e);
    }
}
// Reads a profile. An exception names what is wrong.
function profile(string $json): array {
    $profile = json_decode($json);
    $members = members($profile instanceof \stdClass ? $profile : refuse('A profile is an object in JSON.'), OF_PROFILE);
    check_addresses($members);
    foreach (array_intersect_key($members, METHODS) as $name => $route) {
        $members[$name] = $route === null ? null : route($name, $route);
    }
    $members['statuses'] = get_object_vars($members['statuses'] ?? new \stdClass());
    foreach ($members['statuses'] as $word => $ours) {
        in_array((string) $word, WORDS, true) && refuse("`statuses.$word` is a word of the document, which keeps its meaning.");
        $words = '`requires_action`, `processing`, `succeeded`, `failed` or `canceled`';
        in_array($ours, WORDS, true) || refuse("`statuses.$word` must be $words.");
    }
    return $members + DOCUMENTED;
}
// Whether a key may be sent to an address, `address_of` decides.
function check_addresses(array $members): void {
    foreach (['base_url', 'gateway_url'] as $name) {
        $is_one = preg_match('#^https?://[^/?\#@\\\\\s]+(/[^?\#\\\\\s]*)?$#D', $members[$name] ?? 'https://none');
        $is_one || refuse("`$name` must be an address without a query: https://api.example.com.");
    }
    foreach ($members['checkout_origins'] ?? [] as $text) {
        $is_one = is_string($text) && preg_match('#^https?://[^/?\#@*\\\\\s]+/?$#D', $text);
        $is_one || refuse('`checkout_origins` must be a list of origins: https://pay.example.com.');
    }
}
// An address of the service, without the slash or `/v1` at its end that each request adds. The key is sent unencrypted to this
// machine alone; a test key also to the hosts of GUICHET_PLAIN_HOSTS.
function address_of(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $key): string {
    $hosts = is_test($key) ? explode(',', getenv('GUICHET_PLAIN_HOSTS') ?: '-') : ['-'];
    $hosts = implode('|', array_map(fn($host) => preg_quote($host, '#'), $hosts));
    $plain = "http://(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\]|$hosts)";
    $is_one = preg_match("#^(https://[\w.-]+|$plain)(:\d+)?(/[\w.~/-]*)?$#D", $text);
    $what = 'https://api.example.com (http:// is for this machine, or see GUICHET_PLAIN_HOSTS)';
    $is_one || refuse("GUICHET_BASE_URL, and each address of GUICHET_PROFILE, must be like $what.");
    return preg_replace('#/*(/v1)?/*$#D', '', $text);
}
function is_test(#[\SensitiveParameter] string $key): bool { return preg_match('/^([sr]k_test_|FLWSECK_TEST)/', $key) === 1; }
function refuse(string $reason): never { throw new \InvalidArgumentException($reason); }
function members(\stdClass $of, array $types): array {
    $members = get_object_vars($of);
    foreach ($members as $name => $value) {
        isset($types[$name]) || refuse("unknown field `$name`");
        $type = strtolower(implode(' or ', $types[$name]));
        in_array(gettype($value), $types[$name], true) || refuse("`$name` must be of the type $type.");
    }
    $missing = array_diff(array_intersect(REQUIRED, array_keys($types)), array_keys($members));
    return $missing === [] ? $members : refuse('missing field `' . current($missing) . '`');
}
function route(string $name, \stdClass $given): array {
    $route = members($given, OF_ROUTE) + ['may_list' => true] + BY_KEY;
    ['method' => $method, 'path' => $path, 'credential' => $credential] = $route;
    $places = $name === 'find_by_reference' ? ['{merchant_reference}'] : PLACES;
    [$rest, $named, $methods] = [str_replace($places, '', $path), implode(', ', $places), implode(', ', METHODS[$name])];
    $parts = preg_split('#[/?]#', str_ireplace('%2e', '.', $path)); // `%2e` is a dot to the parsers of addresses
    $wrong = match (true) {
        !in_array($method, array_merge(...array_values(METHODS)), true) => 'a method is GET, POST, PUT or DELETE',
        !in_array($credential, ['key', 'client_secret'], true) => "unknown variant `$credential`",
        !in_array($method, METHODS[$name], true) => "`$name.method` must be one of $methods.",
        !preg_match('#^/(?!/)#', $path) => "`$name.path` must begin with one `/`.",
        preg_match('/[^!-~]|[\\\\#]/', $path) === 1, array_intersect($parts, ['.', '..']) !== [] =>
            "`$name.path` may have no `\\`, `#`, `..`, space or character beyond ASCII.",
        strpbrk($rest, '{}') !== false => "`$name.path` may have no other braces than $named.",
        $rest === $path => "`$name.path` must have one of $named.",
        str_contains($path, '}{') => "`$name.path` must have something between two values.",
        default => null,
    };
    return $wrong === null ? $route : refuse($wrong);
}

// What the service can do.
function service_of(array $profile): array {
    return ['cancels' => $profile['cancel'] !== null, 'finds' => $profile['find_by_reference'] !== null];
}
// Whether a payment is read or canceled by its client secret, which is then kept as long as it is read.
function needs_client_secret(array $profile): bool {
    $needs = fn($route) => $route['credential'] === 'client_secret' || str_contains($route['path'], '{client_secret}');
    return array_filter(array_filter([$profile['read'], $profile['cancel']]), $needs) !== [];
}
// How the service is asked this of a payment; null: it cannot be.
function route_of(array $profile, array|string $asked): ?array {
    return $profile[is_array($asked) ? key($asked) : 'find_by_reference'];
}
// What an order has of what is asked of its payment.
function found_of(array $payment, array|string $asked): array {
    $place = is_array($asked) ? place($payment['found'], 'id', current($asked)) : null;
    return $payment['found'][$place ?? -1] ?? FOUND;
}
// The request that asks it: its method, its path and query, no body, what is sent instead of the key, and what no log may show.
// Null: the service has no such operation, or a name is not known that it needs.
function request_of(array $profile, array $payment, array|string $asked, #[\SensitiveParameter] ?string $secret): ?array {
    [$route, $id] = [route_of($profile, $asked), is_array($asked) ? current($asked) : null];
    $values = [$id, found_of($payment, $asked)['payment_ref'] ?? null, $payment['reference'], $secret];
    $values = array_combine(PLACES, array_map(fn($value) => rawurlencode($value ?? ''), $values));
    preg_match_all('/\{[^}]*\}/', $route['path'] ?? '', $places);
    // A path of `.` or `..` would lead to another operation.
    $is_unknown = fn($place) => in_array($values[$place] ?? '', ['', '.', '..'], true);
    $bearer = ($route['credential'] ?? null) === 'client_secret' ? $secret ?? '' : null;
    $is_bearer = $bearer === null || preg_match('/^[!-~]+$/D', $bearer); // a line end would begin another header
    $is_known = $route !== null && $is_bearer && array_filter($places[0], $is_unknown) === [];
    return $is_known ? [$route['method'], strtr($route['path'], $values), null, $bearer, $secret] : null;
}
// A reply with the payment that it has, in our words for a status: of a list, as a search gives it, the one of this reference.
// A list of what cannot be read may have it.
function with_payment(array $profile, string $reference, bool $may_list, array $reply): array {
    $data = $reply['data'];
    if ($data !== null && $may_list && ($reply['is_list'] ?? false)) {
        $are_read = array_filter($data, fn($one) => is_array($one) && seen($one, null, strval(...)) !== null) === $data;
        $is_it = fn($one) => ($one['merchant_reference'] ?? null) === $reference;
        $data = $are_read ? current(array_filter($data, $is_it)) ?: null : [];
        $reply = $data === null ? ['status' => 404] + $reply : $reply;
    }
    $ours = is_string($data['status'] ?? null) ? $profile['statuses'][$data['status']] ?? null : null;
    return ['data' => $ours === null ? $data : ['status' => $ours] + $data] + $reply;
}
