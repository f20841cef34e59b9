<?php
declare(strict_types=1);
// What `examples/php/ledger_run.php` carries out, at a service that answers as each test says: php tests/shop/ledger-run.php
namespace Guichet\Ledger;

require __DIR__ . '/tests.php';
set_error_handler(fn($level, $message, $file, $line) => throw new \ErrorException($message, 0, $level, $file, $line));

const AWA = ['customer' => 'awa'];
const COSTS = ['amount' => '45000', 'description' => 'Shoes', 'firstname' => 'Awa', 'lastname' => 'Ngono', 'email' => 'awa@example.com'];

// A shop, its service and its time.
final class World {
    public array $replies = []; // the next ones, each a change of the payment, a status, `hangs`, or null: it is lost
    public array $sent = [];
    public array $events = [];
    public array $alarms = [];
    public bool $is_full = false; // the shop cannot store an event
    public int $most_at_once = 0;
    public \PDO $database;
    private int $ids = 0;
    private array $ids_of = [];
    private array $bodies = [];

    public function __construct(private string $key = 'sk_live_1', public ?int $date = null) { $this->database = connect(':memory:'); }
    // As a new process has it.
    public function ledger(?string $key = null, ?string $former = null, array $service = []): Ledger {
        $changed = fn($changed) => $this->is_full ? throw new \Exception('the disk is full') : $this->events[] = $changed;
        $alarm = function (string $about) { $this->alarms[] = $about; };
        return new Ledger(new Store($this->database), $key ?? $this->key, $this->send(...), $changed, $alarm, $service + ['call' => 40], $former);
    }
    private function send(array $requests): array {
        $this->most_at_once = max($this->most_at_once, count($requests));
        return array_map(fn($request) => $this->answer(...$request), $requests);
    }
    private function answer(string $method, string $path, ?string $body): array {
        $this->sent[] = "$method $path";
        $reply = ['status' => 200, 'date' => $this->date ?? time(), 'retry_after' => null, 'hangs' => false];
        if ($path === '/v1/payment-methods') { return ['data' => []] + $reply; }
        $next = $this->replies === [] ? [] : array_shift($this->replies);
        $lost = ['status' => null, 'data' => null, 'date' => null];
        if ($next === null || $next === 'hangs') { return $lost + ['hangs' => $next === 'hangs'] + $reply; }
        if (is_int($next)) { return ['status' => $next, 'data' => null, 'retry_after' => 7] + $reply; }
        $created = $body === null || $body === '' ? null : decoded($body);
        $id = $created === null ? explode('/', $path)[3] : $this->ids_of[$created['merchant_reference']] ??= 'pi_' . ++$this->ids;
        $this->bodies[$id] = $created ?? $this->bodies[$id];
        $of = $this->bodies[$id];
        $reply['date'] = $next['date'] ?? $reply['date'];
        $data = ['id' => $id, 'status' => 'requires_action', 'currency' => 'XAF', 'checkout_url' => "https://pay.example/$id"];
        return ['data' => $next + $data + $of] + $reply;
    }
    public function click(string $name = 'ORDER-17', array $costs = COSTS): array {
        return $this->ledger()->click(AWA, $name, compact('costs'))['answer'];
    }
    // Makes everything due, as if its time had come.
    public function settle(?string $key = null): array {
        $this->database->exec('UPDATE guichet_payments SET due_at = 1 WHERE due_at IS NOT NULL');
        $this->grow_old('tried_at');
        return $this->ledger($key)->settle();
    }
    // Puts these times of each order long ago.
    public function grow_old(string $times): void {
        $orders = $this->database->query('SELECT name, body FROM guichet_orders')->fetchAll();
        foreach ($orders as ['name' => $name, 'body' => $body]) {
            $older = preg_replace("/\"($times)\":\d+/", '"$1":1', $body);
            execute($this->database, 'UPDATE guichet_orders SET body = ? WHERE name = ?', [$older, $name]);
        }
    }
    public function shared(): array { return decoded($this->database->query('SELECT shared FROM guichet_ledger')->fetchColumn()); }
}

$tests = [
    'an order is one payment, and is paid by a round' => function () {
        $world = new World();
        $led = $world->click()['lead'];
        same([$led['reference'], $led['address']], ['ORDER-17', ['plain' => 'https://pay.example/pi_1']]);
        same($world->click()['lead'], $led);
        same($world->sent, ['POST /v1/payment-intents', 'POST /v1/payment-intents']);
        $world->replies = [['status' => 'succeeded']];
        ['due' => $due, 'read' => $read, 'not_received' => $not_received] = $world->settle();
        same([$due, $read, $not_received], [1, 1, 0]);
        same(array_column($world->events, 'state'), ['paid']);
        same($world->events[0]['paid_by']['reference'], 'ORDER-17');
        same($world->click(), ['paid' => ['reference' => 'ORDER-17', 'id' => 'pi_1']]);
    },
    'what the shop cannot store comes again' => function () {
        $world = new World();
        $world->click();
        [$world->replies, $world->is_full] = [[['status' => 'succeeded']], true];
        same($world->settle()['not_received'], 1);
        same($world->events, []);
        [$world->replies, $world->is_full] = [[['status' => 'succeeded']], false];
        same($world->settle()['not_received'], 0);
        same(count($world->events), 1);
        same(str_starts_with($world->alarms[0], 'not_received ORDER-17'), true);
    },
    'a lost reply is asked for by the same body' => function () {
        $world = new World();
        $world->replies = [null];
        same($world->click(), ['error' => ['status' => 503, 'code' => 'unavailable']]);
        same($world->click()['lead']['id'], 'pi_1');
    },
    'a page waits for one call to a service that hangs, and reads after a lost reply' => function () {
        foreach (['hangs' => 1, '' => 2] as $next => $calls) {
            $world = new World();
            $led = $world->click()['lead'];
            [$world->replies, $before] = [[$next ?: null], count($world->sent)];
            $answer = $world->click();
            same($answer, $calls === 1 ? ['error' => ['status' => 503, 'code' => 'unavailable']] : ['lead' => $led]);
            same(count($world->sent) - $before, $calls);
        }
    },
    'an address that no repeat gives is sealed, and only its key opens it' => function () {
        $world = new World();
        $world->click();
        $body = $world->database->query('SELECT body FROM guichet_orders')->fetchColumn();
        same(str_contains($body, 'pay.example'), false);
        $world->replies = [['checkout_url' => null], ['checkout_url' => null]];
        ['sealed' => $sealed] = $world->click()['lead']['address'];
        same($world->ledger()->opened($sealed), 'https://pay.example/pi_1');
        same($world->ledger('sk_live_2')->opened($sealed), null);
        same($world->ledger('sk_live_2', 'sk_live_1')->opened($sealed), 'https://pay.example/pi_1');
        same($world->ledger()->opened(substr($sealed, 0, -2)), null);
        same($world->ledger()->opened('no'), null);
    },
    'a second payment for one creation ends the repeats' => function () {
        $world = new World();
        $world->click();
        $world->replies = [['id' => 'pi_9', 'checkout_url' => 'https://pay.example/pi_9'], []];
        same($world->click()['lead']['id'], 'pi_1');
        same([$world->shared()['repeats'], end($world->alarms)], [false, 'doubled ORDER-17']);
        $world->click();
        same(end($world->sent), 'GET /v1/payment-intents/pi_1');
    },
    'a 429 holds the rounds back' => function () {
        $world = new World();
        $world->click();
        $world->replies = [429];
        same($world->settle()['read'], 0);
        same(abs($world->shared()['held_until'] - time() - 7) <= 1, true);
        $sent = count($world->sent);
        same([$world->settle()['read'], count($world->sent)], [0, $sent]);
    },
    'eight are read at a time, until nothing is due' => function () {
        $world = new World();
        for ($order = 1; $order <= 19; $order++) {
            $world->click("ORDER-$order");
        }
        same($world->settle()['read'], 19);
        same($world->most_at_once, 8);
    },
    'a round that another server has is left to it' => function () {
        $world = new World();
        $world->click();
        $shared = encoded(['round_until' => time() + 10] + $world->shared());
        execute($world->database, 'UPDATE guichet_ledger SET shared = ?', [$shared]);
        $round = $world->settle();
        same([$round['read'], $round['is_elsewhere'], $round['due']], [0, true, 1]);
    },
    'an order that cannot be read delays no other' => function () {
        $world = new World();
        array_map($world->click(...), ['ORDER-1', 'ORDER-2']);
        $world->database->exec("UPDATE guichet_orders SET body = 'no JSON' WHERE name = 'ORDER-1'");
        same($world->settle()['read'], 1);
        same(str_starts_with($world->alarms[0], 'not_handled ORDER-1'), true);
        $due = "SELECT due_at > unixepoch() + 50 FROM guichet_payments WHERE reference = 'ORDER-1'";
        same($world->database->query($due)->fetchColumn(), 1);
    },
    'the customer alone reads a payment' => function () {
        $world = new World();
        $world->click();
        same($world->ledger()->read(['customer' => 'paul'], ['pi_1']), null);
        same($world->ledger()->read(['guest' => 'awa'], ['pi_1']), null);
        same($world->ledger()->read(AWA, ['ORDER-17']), null);
        same($world->ledger()->read(AWA, ["pi_1\n"]), null);
        same($world->ledger()->read(AWA, ['pi_1'])['found']['status'], 'requires_action');
        $nonce = $world->ledger()->order('ORDER-17')['payments'][0]['nonce'];
        same($world->ledger()->read(AWA, [$nonce, 'gch_other'])['found']['id'], 'pi_1');
        same($world->ledger()->read(['customer' => 'paul'], [$nonce]), null);
    },
    'a person decides' => function () {
        $world = new World();
        $world->click();
        $resolve = ['reference' => 'ORDER-17', 'id' => 'pi_1', 'who' => 'Nadia', 'why' => 'seen at the company'];
        $paid = $resolve + ['verdict' => ['paid' => ['amount' => '45000', 'currency' => 'XAF']]];
        same($world->ledger()->resolve('ORDER-18', $paid), ['status' => 404, 'code' => 'order_missing']);
        same($world->ledger()->resolve('ORDER-17', ['id' => null] + $paid), ['status' => 422, 'code' => 'payment_id_missing']);
        same($world->ledger()->resolve('ORDER-17', $paid), null);
        same($world->events[0]['state'], 'paid');
        same($world->ledger()->order('ORDER-17')['entries'][0]['who'], 'Nadia');
    },
    'with a test key the time is the service\'s' => function () {
        foreach (['sk_test_1' => 100_000, 'sk_live_1' => 0] as $key => $ahead) {
            $world = new World($key, time() + 100_000);
            $world->click();
            same(abs($world->ledger()->order('ORDER-17')['payments'][0]['created_at'] - time() - $ahead) <= 1, true);
            same(in_array('clock', $world->alarms, true), $ahead === 0);
        }
    },
    'a payment whose creation was never answered is named' => function () {
        $world = new World();
        $world->replies = [null];
        $world->click();
        same($world->ledger()->settle()['not_readable'], []);
        $world->grow_old('until');
        same($world->settle()['not_readable'], [['ORDER-17', null]]);
        same($world->ledger()->settle()['not_readable'], []); // it takes no place from others
    },
    'what nothing can be asked of takes no place from others' => function () {
        $now = time();
        $world = new World('sk_test_1', $now);
        foreach (range(1, 9) as $number) {
            $world->replies = [null];
            $world->click("LOST-$number");
        }
        $world->date = $now + 31 * DAY;
        $world->click('OPEN');
        $world->date += 60;
        $world->replies = [['status' => 'succeeded']];
        same($world->ledger()->settle()['read'], 1);
        same(array_column($world->events, 'state', 'name')['OPEN'], 'paid');
        same($world->ledger()->settle()['due'], 0);
    },
    'personal data are deleted after a year, and no round is busy with them before' => function () {
        $now = time();
        $world = new World('sk_test_1', $now);
        $settle = function (int $days) use ($world, $now) {
            $world->date = $now + $days * DAY;
            $world->replies = [['status' => 'succeeded']];
            $service = ['keep_days' => 365];
            return $world->ledger(service: $service)->settle()['due'];
        };
        $world->click();
        same(array_map($settle, [1, 3, 5, 20, 34, 36, 364]), [1, 1, 0, 0, 1, 0, 1]);
        $stored = fn() => $world->database->query('SELECT body FROM guichet_orders')->fetchColumn();
        same(str_contains($stored(), 'awa@example.com'), true);
        same(array_map($settle, [367, 400, 800]), [1, 0, 0]);
        same(str_contains($stored(), 'awa@example.com'), false);
    },
    'a payment is canceled although the clock has gone back' => function () {
        $now = time();
        $world = new World('sk_test_1', $now + 100);
        $world->click();
        $world->date = $now + 99; // that reply was a second longer on its way
        $world->replies = [['status' => 'canceled', 'date' => $now + 101]];
        same($world->click(costs: ['amount' => '50000'] + COSTS)['lead']['reference'], 'ORDER-17-1');
    },
    'by a clock that the service contradicts nothing is left' => function () {
        $world = new World('sk_live_1', time() - 100_000);
        $world->replies = [null];
        $world->click();
        $world->grow_old('at|until');
        $world->replies = [null];
        same($world->click(costs: ['amount' => '50000'] + COSTS), ['error' => ['status' => 503, 'code' => 'unavailable']]);
        same(count($world->ledger()->order('ORDER-17')['payments']), 1);
        $world->grow_old('at|until');
        $world->date = time();
        same($world->click(costs: ['amount' => '50000'] + COSTS)['lead']['reference'], 'ORDER-17-1');
    },
    'a reply is read as the other libraries read it' => function () {
        $seal = fn($address) => "sealed $address";
        $data = ['id' => 'pi_1', 'amount' => 45000.50, 'status' => 'succeeded', 'expires_at' => '2026-11-21T10:30:00',
            'duplicate_payments' => [['attempt' => 'two', 'amount' => 5], 'odd', ['attempt' => 2, 'amount' => '5.00'], ['attempt' => -1]]];
        $seen = seen($data, null, $seal);
        same([$seen['amount'], $seen['expires_at'], $seen['currency']], ['45000.5', 1795257000, null]);
        same(array_column($seen['duplicates'], 'amount', 'attempt'), [4294967295 => '5', 4294967294 => null, 2 => '5', 4294967292 => null]);
        same(seen(['merchant_reference' => ''] + $data, null, $seal)['reference'], '');
        foreach (['id', 'amount', 'status'] as $name) {
            same(seen([$name => null] + $data, null, $seal), null);
        }
        foreach (['1e3', '-5', '', ' 5', '0x5', true, []] as $amount) {
            same(seen(['amount' => $amount] + $data, null, $seal), null);
        }
        same(nonce(hash('sha256', 'x', true)), 'Am5Y8z1AgfodU5yu2sif3K');
    },
];
$failed = failures($tests);
echo count($tests) - $failed, " passed, $failed failed\n";
exit($failed > 0 ? 1 : 0);
