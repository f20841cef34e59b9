<?php
declare(strict_types=1);
// What `examples/php/ledger_profile.php` permits and refuses, by profile.json; and the shop in PHP at the services of tests/manners that need a
// profile, with that and no code. It needs Node.js: php tests/shop/ledger-profile.php
namespace Guichet\Ledger;

require __DIR__ . '/tests.php';
set_error_handler(fn($level, $message, $file, $line) => (error_reporting() & $level) === 0 ? true : throw new \ErrorException($message, 0, $level, $file, $line));

const KEY = 'sk_test_manners';
const MANNERS = __DIR__ . '/../manners';
const SHOP = __DIR__ . '/../../examples/php/shop.php';
// A service that repeats in its reply what it was asked with, and redirects every reading. It writes whether that was followed.
const TELLTALE = <<<'PHP'
<?php
[$method, $path] = [$_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI']];
header('content-type: application/json');
if ("$method $path" === 'POST /gateway/v1/payment-intents') {
    $data = ['id' => 'pi_1', 'status' => 'open', 'currency' => 'XAF', 'client_secret' => 'pi_1/secret'];
    return print "\xef\xbb\xbf" . json_encode(['data' => $data + json_decode(file_get_contents('php://input'), true)]);
}
$path === '/followed' && touch(getenv('FOLLOWED'));
str_contains($path, '/payment-methods') || header('location: /followed', true, 302);
echo json_encode(['data' => [], 'message' => "$method $path $_SERVER[HTTP_AUTHORIZATION]"]);
PHP;

// A process that ends with its object. Its first line, or what it logs.
final class Process {
    private $process;
    private array $pipes = [];
    public function __construct(array $command, array $environment, string $log = '/dev/null') {
        $outputs = [1 => ['pipe', 'w'], 2 => ['file', $log, 'a']];
        $this->process = proc_open($command, $outputs, $this->pipes, null, $environment + getenv());
    }
    public function line(): string { return trim((string) fgets($this->pipes[1])); }
    public function __destruct() {
        proc_terminate($this->process);
        proc_close($this->process);
    }
}
function free_port(): int {
    $socket = stream_socket_server('tcp://127.0.0.1:0');
    return (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
}
// A server in PHP, once it accepts connections. Returns its process and its address.
function serve(string $file, array $environment, string $log = '/dev/null'): array {
    $at = '127.0.0.1:' . free_port();
    $process = new Process([PHP_BINARY, '-S', $at, $file], $environment + ['SHOP_URL' => "http://$at"], $log);
    for ($attempts = 0; $attempts < 500 && !@stream_socket_client("tcp://$at"); $attempts++) { usleep(10_000); }
    return [$process, "http://$at"];
}
function call(string $url, array|string|null $body = null, string $cookie = ''): array {
    $type = is_string($body) ? 'application/x-www-form-urlencoded' : 'application/json';
    $http = ['ignore_errors' => true, 'follow_location' => 0, 'header' => ["content-type: $type", "cookie: $cookie"]];
    $http += $body === null ? [] : ['method' => 'POST', 'content' => is_string($body) ? $body : json_encode((object) $body)];
    $text = file_get_contents($url, false, stream_context_create(['http' => $http]));
    return [json_decode($text, true), implode("\n", $http_response_header)];
}

// A shop, and its service: a fixture with its profile, or one that is at an address.
final class Walk {
    public string $folder;
    public string $service;
    private array $environment;
    private array $processes;
    private string $shop;
    private string $cookie;

    public function __construct(string $manner, array $changes = [], ?string $service = null, string $base_url = '') {
        mkdir($this->folder = sys_get_temp_dir() . '/guichet-profile-' . getmypid() . '-' . bin2hex(random_bytes(4)));
        $fixture = $service === null ? new Process(['node', MANNERS . "/$manner.mjs"], []) : null;
        $this->service = $service ?? "http://127.0.0.1:{$fixture->line()}";
        $profile = $changes + ['base_url' => $this->service] + decoded(file_get_contents(MANNERS . "/$manner.json"));
        file_put_contents("$this->folder/service.json", json_encode($profile));
        $this->environment = ['GUICHET_SECRET_KEY' => KEY, 'GUICHET_PROFILE' => "$this->folder/service.json",
            'SHOP_DATABASE' => "$this->folder/shop.sqlite", 'GUICHET_BASE_URL' => $base_url];
        [$server, $this->shop] = serve(SHOP, $this->environment, "$this->folder/log");
        $this->processes = array_filter([$fixture, $server]);
        [, $headers] = call("$this->shop/sign-in", ['customer' => 'awa']);
        preg_match_all('/^set-cookie: (shop=[^;]+)/mi', $headers, $cookies);
        $this->cookie = end($cookies[1]);
    }
    public function __destruct() {
        $this->processes = [];
        array_map(unlink(...), glob("$this->folder/*"));
        rmdir($this->folder);
    }
    public function click(): array {
        return call("$this->shop/guichet/intents", ['id' => '17', 'product' => 'trainers'], $this->cookie)[0];
    }
    // Where a form leads.
    public function location(): ?string {
        $headers = call("$this->shop/guichet/intents", 'id=17&product=trainers', $this->cookie)[1];
        return preg_match('/^location: (.*)$/mi', $headers, $location) ? trim($location[1]) : null;
    }
    // A click that leads to a payment.
    public function led(): array {
        $reply = $this->click();
        return $reply['intent'] ?? throw new \Exception('a click: ' . json_encode($reply));
    }
    public function status(array $intent): array {
        return call("$this->shop/guichet/intents/" . rawurlencode($intent['payment_ref']), null, $this->cookie)[0];
    }
    public function order(): array { return call("$this->shop/shop", null, $this->cookie)[0]['orders'][0]; }
    // Moves the service.
    public function test(string $what, array $body = []): mixed { return call("$this->service/test/$what", $body)[0]; }
    // What a round logs, after so long a time.
    public function settle(int $seconds = 10): string {
        $this->test('clock', ['seconds' => $seconds]);
        [, $log] = $this->started([]);
        file_put_contents("$this->folder/log", $log, FILE_APPEND);
        return $log;
    }
    // The command with another environment: its exit status and what it logs.
    public function started(array $environment): array {
        $all = $environment + $this->environment + getenv();
        $process = proc_open([PHP_BINARY, SHOP, 'settle'], [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes, null, $all);
        $log = stream_get_contents($pipes[1]);
        return [proc_close($process), $log];
    }
    public function database(): \PDO { return connect("$this->folder/shop.sqlite"); }
    public function stored(): array { return decoded($this->database()->query('SELECT body FROM guichet_orders')->fetchColumn()); }
    // Whether a text is in the log or the database.
    public function is_kept(string $text): bool {
        return array_filter(glob("$this->folder/*"), fn($file) => str_contains(file_get_contents($file), $text)) !== [];
    }
}

$cases = decoded(file_get_contents(__DIR__ . '/profile.json'));
$refusal = function (callable $work): string {
    try {
        $work();
    } catch (\InvalidArgumentException $e) {
        return $e->getMessage();
    }
    throw new \Exception('It is permitted.');
};
$refused = fn(string $text) => $refusal(fn() => profile($text));
$paid = fn(Walk $walk) => [$walk->order()['paid_by'], $walk->order()['refunds']];

$tests = [
    'a wrong profile is refused by name' => function () use ($cases, $refused) {
        foreach ($cases['wrong'] as [$text, $words]) {
            same(str_starts_with($refused($text), $words), true, "$text: {$refused($text)}");
        }
        $good = decoded('{"base_url": "https://api.example.com", "read": {"method": "GET", "path": "/v1/{id}"}}');
        profile(json_encode($good));
        $types = ['base_url' => 5, 'gateway_url' => [], 'checkout_origins' => [5], 'read' => [], 'find_by_reference' => 'x', 'cancel' => false, 'statuses' => ['x']];
        foreach ($types as $name => $value) {
            $refusal = $refused(json_encode([$name => $value] + $good));
            same(str_contains($refusal, $name === 'statuses' ? 'statuses' : "`$name`"), true, $refusal);
        }
        array_map($refused, ['', '[]', 'null', '5', '{"base_url": "https://api.example.com", "read": {"method": "GET", "path": "/v1/{id}", "credential": null}}']);
    },
    'a payment is asked for as the profile says' => function () use ($cases) {
        $found = ['id' => 'pi_1', 'payment_ref' => 'PAY/1?a', 'state' => 'open', 'status' => 'processing', 'read_with' => 'sealed'];
        $payment = filled_payment(['reference' => 'ORDER 17', 'body' => [], 'found' => [$found]]);
        foreach ($cases['requests'] as ['profile' => $members, 'asked' => $asked, 'request' => $should]) {
            $profile = $members === null ? DOCUMENTED : profile(json_encode(['base_url' => 'https://api.example.com'] + $members));
            $secret = found_of($payment, $asked)['read_with'] === null ? null : 'pi_1_secret_1';
            [$method, $target, , $bearer, $hidden] = request_of($profile, $payment, $asked, $secret) ?? [null, null, null, null, $secret];
            same(array_values(array_filter([$method, $target, $bearer], is_string(...))), $should ?? [], json_encode($members));
            same($hidden, $secret);
        }
        $elsewhere = profile(file_get_contents(MANNERS . '/elsewhere.json'));
        same(service_of($elsewhere), ['cancels' => true, 'finds' => true]);
        same(service_of(['cancel' => null] + DOCUMENTED), ['cancels' => false, 'finds' => false]);
        $by_secret = profile('{"base_url": "https://a.example", "read": {"method": "GET", "path": "/{id}", "credential": "client_secret"}}');
        same(request_of($by_secret, $payment, ['read' => 'pi_1'], "pi_1\r\nx: y"), null);
    },
    'a list is read only where a profile asks, and a word of its own is ours' => function () {
        $one = ['id' => 'pi_1', 'merchant_reference' => 'ORDER-17', 'amount' => 1, 'currency' => 'XAF', 'status' => 'done'];
        $list = ['status' => 200, 'data' => [['id' => 'pi_2', 'merchant_reference' => 'OTHER'] + $one, $one], 'is_list' => true];
        $profile = ['statuses' => ['done' => 'succeeded']] + DOCUMENTED;
        $read = fn($may_list, $reply) => with_payment($profile, 'ORDER-17', $may_list, $reply);
        same($read(true, $list)['data'], ['status' => 'succeeded'] + $one);
        same($read(false, ['data' => $one] + $list)['data'], ['status' => 'succeeded'] + $one);
        same($read(false, $list)['data'], $list['data']); // no payment
        $both = fn(...$of) => [$read(...$of)['status'], $read(...$of)['data']];
        same($both(true, ['data' => []] + $list), [404, null]);
        same($both(true, ['data' => [], 'is_list' => false] + $list), [200, []]);
        same($both(true, ['data' => [['id' => null] + $one]] + $list), [200, []]); // it may be the one
        same($both(true, ['status' => 500, 'data' => null] + $list), [500, null]);
    },
    'the key is sent by https, or to this machine' => function () use ($refusal) {
        foreach (['https://api.example.com/v1/' => 'https://api.example.com', 'http://[::1]:4243' => 'http://[::1]:4243'] as $text => $address) {
            same(address_of($text, 'sk_live_1'), $address);
        }
        foreach (['http://api.example.com', 'https://user:password@api.example.com', 'https://api.example.com?a', 'http://127.0.0.1.example.com', ''] as $text) {
            same(str_contains($refusal(fn() => address_of($text, 'sk_live_1')), 'GUICHET_PROFILE'), true, $text);
        }
        putenv('GUICHET_PLAIN_HOSTS=sandbox');
        same(address_of('http://sandbox:4243', KEY), 'http://sandbox:4243');
        $refusal(fn() => address_of('http://sandbox:4243', 'sk_live_1'));
        putenv('GUICHET_PLAIN_HOSTS');
    },
];
foreach (['elsewhere', 'secret'] as $manner) {
    $is_secret = $manner === 'secret';
    $tests += [
        "$manner: an order is paid" => function () use ($manner, $paid) {
            $walk = new Walk($manner);
            $first = $walk->led();
            same(array_intersect_key($walk->led(), ['id' => 0, 'checkout_url' => 0]), array_intersect_key($first, ['id' => 0, 'checkout_url' => 0]));
            same($walk->status($first)['status'], 'requires_action');
            $walk->test('pay', ['reference' => $first['merchant_reference']]);
            same(str_contains($walk->settle(), "$first[merchant_reference] is paid."), true);
            same([$walk->status($first)['status'], $paid($walk)], ['succeeded', [$first['merchant_reference'], 0]]);
            same($walk->led()['checkout_url'], null);
        },
        "$manner: an order that is paid twice is paid back once" => function () use ($manner, $paid) {
            $walk = new Walk($manner);
            ['merchant_reference' => $reference] = $walk->led();
            $walk->test('decline', compact('reference'));
            $walk->settle();
            same($walk->led()['merchant_reference'], "$reference-1");
            foreach ([$reference, "$reference-1"] as $one) {
                $walk->test('pay', ['reference' => $one]);
            }
            $walk->settle(3600);
            same($paid($walk)[1], 1);
        },
        "$manner: a payment whose creation is never answered is found, or named" => function () use ($manner, $is_secret, $paid) {
            $walk = new Walk($manner);
            $walk->test('lose', ['reply' => 'create', 'times' => 9]);
            $reply = $walk->click();
            [['merchant_reference' => $reference]] = $walk->test('intents');
            same($reply['intent']['merchant_reference'] ?? $reply['error']['code'], $is_secret ? 'unavailable' : $reference);
            $walk->test('pay', compact('reference'));
            $log = $walk->settle(3600);
            same(str_contains($log, "Look for $reference (no id)"), $is_secret, $log);
            same($paid($walk), [$is_secret ? null : $reference, 0]);
        },
        "$manner: an open payment is canceled where the service can" => function () use ($manner, $is_secret) {
            $walk = new Walk($manner);
            $first = $walk->led();
            $walk->database()->exec("UPDATE products SET amount = '50000'");
            same($walk->led()['merchant_reference'], $first['merchant_reference'] . ($is_secret ? '' : '-1'));
            same($walk->test('intents')[0]['status'], $is_secret ? 'requires_action' : 'canceled');
        },
        "$manner: a client secret is sealed, and deleted with the last reading" => function () use ($manner, $is_secret) {
            $walk = new Walk($manner);
            $first = $walk->led();
            [['client_secret' => $secret]] = $walk->test('intents');
            $read_with = fn() => $walk->stored()['payments'][0]['found'][0]['read_with'];
            same([is_string($read_with()), $walk->is_kept($secret)], [$is_secret, false]);
            $walk->test('pay', ['reference' => $first['merchant_reference']]);
            $walk->settle();
            same(is_string($read_with()), $is_secret);
            $walk->settle(25 * 3600);
            same([$read_with(), $walk->is_kept($secret)], [null, false]);
        },
    ];
}
$tests += [
    'no log has a client secret, and no redirect gets it' => function () {
        $file = tempnam(sys_get_temp_dir(), 'telltale');
        file_put_contents($file, TELLTALE);
        [$process, $service] = serve($file, ['FOLLOWED' => "$file.followed"]);
        $routes = [['POST', '/status?of={id}', 'client_secret'], ['GET', '/status?token={client_secret}', 'key'], ['GET', '/{client_secret}', 'client_secret']];
        foreach ($routes as [$method, $path, $credential]) {
            $walk = new Walk('secret', ['gateway_url' => "$service/gateway", 'read' => compact('method', 'path', 'credential')], $service);
            $walk->click();
            same($walk->stored()['payments'][0]['found'][0]['id'], 'pi_1'); // created at the gateway
            $walk->started([]);
            $log = file_get_contents("$walk->folder/log");
            same(substr_count($log, ': 302 '), 1, $log);
            same([str_contains($log, '***'), str_contains($log, 'secret'), $walk->is_kept('pi_1/secret')], [true, false, false], $log);
            same(file_exists("$file.followed"), false);
        }
        unlink($file);
    },
    'an address in GUICHET_BASE_URL takes the place of all addresses of the profile' => function () {
        $walk = new Walk('elsewhere');
        $members = ['base_url' => 'http://127.0.0.1:1', 'gateway_url' => 'http://127.0.0.1:1', 'checkout_origins' => ['https://pay.example']];
        $elsewhere = new Walk('elsewhere', $members, $walk->service, $walk->service);
        same(str_starts_with($elsewhere->location(), "$walk->service/pay/"), true);
        same(count($walk->test('intents')), 1);
        $elsewhere->started([]);
        same(is_string($elsewhere->order()['id']) && !isset($elsewhere->order()['customer_id']), true);
    },
    'a form leads to no other origin than those of the profile' => function () {
        $walk = new Walk('elsewhere');
        same($walk->location(), $walk->led()['checkout_url']);
        $led = fn(string ...$origins) => (new Walk('elsewhere', ['checkout_origins' => $origins], $walk->service))->location();
        same(str_starts_with($led('https://pay.example', $walk->service), "$walk->service/pay/"), true);
        same($led('https://pay.example'), null);
    },
    'a wrong profile ends the process by name' => function () {
        $walk = new Walk('secret');
        $start = function (array $members, string $key = KEY) use ($walk) {
            file_put_contents("$walk->folder/wrong.json", json_encode($members + decoded(file_get_contents(MANNERS . '/secret.json'))));
            [$code, $log] = $walk->started(['GUICHET_PROFILE' => "$walk->folder/wrong.json", 'GUICHET_SECRET_KEY' => $key]);
            return $code === 0 ? 'It starts.' : $log;
        };
        foreach ([
            '`read.path` must begin with one `/`.' => ['read' => ['method' => 'GET', 'path' => '//evil.example/{id}']],
            'unknown field `key`' => ['key' => 'sk_live_1'],
            'https://api.example.com (http://' => ['base_url' => 'http://api.example.com'],
            'must be like https://' => ['gateway_url' => 'http://api.example.com'],
            '`checkout_origins` must be a list of origins' => ['checkout_origins' => ['https://pay.example/page']],
            '`checkout_origins` of GUICHET_PROFILE must be an origin' => ['checkout_origins' => ['http://pay.example.com']],
        ] as $words => $members) {
            $log = $start($members, 'sk_live_1');
            same([str_contains($log, $words), str_contains($log, 'GUICHET_PROFILE')], [true, true], $log);
        }
        [$code, $log] = $walk->started(['GUICHET_PROFILE' => "$walk->folder/none.json"]);
        same([$code === 0, str_contains($log, 'GUICHET_PROFILE: The file cannot be read.')], [false, true], $log);
    },
];
$failed = failures($tests);
echo count($tests) - $failed, " passed, $failed failed\n";
exit($failed > 0 ? 1 : 0);
