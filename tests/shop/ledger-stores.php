<?php
declare(strict_types=1);
// The stores of the ledger in PHP keep the contract of `src/shop/ledger/contract.rs`: in SQLite, and in MySQL or MariaDB if the argument is
// its address, as a user who may create databases: php tests/shop/ledger-stores.php 'mysql:unix_socket=/tmp/mysqld.sock'
namespace Guichet\Ledger;

use PDO;

require __DIR__ . '/tests.php';

const AWA = 'customer:awa';
const LATEST = PHP_INT_MAX;

set_error_handler(fn($level, $message, $file, $line) => throw new \ErrorException($message, 0, $level, $file, $line));
$server = str_starts_with($argv[1] ?? '', 'mysql:') ? array_splice($argv, 1, 1)[0] : null;
$folder = sys_get_temp_dir() . '/guichet-stores-' . getmypid();

function first(int $now): string { return json_encode(['created_at' => $now]); }
function fails(callable $work, string $message): void {
    try {
        $work();
    } catch (\Throwable $e) {
        str_contains($e->getMessage(), $message) || throw $e;
        return;
    }
    throw new \Exception("It does not fail: $message");
}
function opened(PDO $database): Store {
    $store = new Store($database);
    $store->open(first(...));
    return $store;
}
// The address of an empty database.
function none(): string {
    global $server, $folder;
    static $number = 0;
    $name = 'stores_' . getmypid() . '_' . $number++;
    if ($server === null) { return "$folder/$name.sqlite"; }
    connect($server, 'root')->exec("CREATE DATABASE $name");
    return "$server;dbname=$name";
}
function connected(string $address): PDO { return connect($address, 'root'); }

// A commit of an order that has one payment.
function order_of(string $name, array $more = []): array {
    ['now' => $now, 'owner' => $owner] = $more + ['now' => 1_000, 'owner' => AWA];
    $row = ['reference' => $name, 'created_at' => $now, 'due_at' => $now + 3, 'counts_until' => $now + DAY];
    $row['names'] = [$name, "pi_$name", "gch_$name"];
    return $more + ['name' => $name, 'version' => 1, 'body' => json_encode(compact('name', 'owner')), 'owner' => $owner,
        'before' => null, 'open' => null, 'now' => $now, 'rows' => [$row], 'event' => ['version' => 1, 'body' => '{}']];
}
function references(Store $store, int $now, int $beyond = LATEST): array {
    $references = array_column($store->due($now, $beyond), 'reference');
    sort($references);
    return $references;
}
// What is stored of an order: all of it, or nothing.
function is_stored(Store $store, string $name): bool {
    $is = [$store->load($name, AWA, 1_000)['order'] !== null, in_array($name, references($store, LATEST), true)];
    foreach ([$name, "pi_$name", "gch_$name"] as $payment) {
        $is[] = count($store->find($payment)) === 1;
    }
    $is[] = in_array($name, array_column($store->events(), 'name'), true);
    same(count(array_unique($is)), 1, 'half of a commit is stored: ' . json_encode($is));
    return $is[0];
}

// Kills the process before or after the statement of a number.
final class Killer extends \PDOStatement {
    public static int $left = LATEST;
    private function __construct() {}
    public function execute(?array $params = null): bool {
        self::$left-- === 0 && posix_kill(getmypid(), SIGKILL);
        $is_done = parent::execute($params);
        self::$left-- === 0 && posix_kill(getmypid(), SIGKILL);
        return $is_done;
    }
}

// What another process does.
if (in_array($argv[1] ?? '', ['clicks', 'killed', 'start'], true)) {
    [, $role, $address, $number, $name] = $argv + [3 => '', ''];
    $database = connected($address);
    $store = $role === 'start' ? new Store($database) : opened($database);
    if ($role === 'killed') {
        $database->setAttribute(PDO::ATTR_STATEMENT_CLASS, [Killer::class]);
        Killer::$left = (int) $number;
        echo $store->commit(order_of($name, ['open' => 0])) ? 'true' : 'false';
        exit;
    }
    echo "ready\n";
    fgets(STDIN);
    if ($role === 'start') {
        $store->open(first(...));
        echo $store->shared(), "\n";
        exit;
    }
    // One of two servers on which 64 clicks of a customer come, each on an order of its own.
    $stored = 0;
    for ($click = (int) $number; $click < 64; $click += 2) {
        do {
            $open = $store->load("ORDER-$click", AWA, 1_000)['open'];
            $is_done = $open >= 20 || $store->commit(order_of("ORDER-$click", compact('open')));
            $stored += (int) ($is_done && $open < 20);
        } while (!$is_done);
    }
    echo "$stored\n";
    exit;
}

// A process of this file, and its pipes.
function start(string ...$words): array {
    $run = proc_open([PHP_BINARY, __FILE__, ...$words], [['pipe', 'r'], ['pipe', 'w'], STDERR], $pipes);
    return [$run, ...$pipes];
}
function ended(array $started): array {
    [$run, , $output] = $started;
    $text = stream_get_contents($output);
    while (($status = proc_get_status($run))['running']) {
        usleep(1_000);
    }
    return [$status['signaled'] ? $status['termsig'] : $status['exitcode'], trim($text)];
}
// What they print that all begin at once.
function at_once(array $started): array {
    array_map(fn($one) => fgets($one[2]), $started);
    array_map(fn($one) => fwrite($one[1], "now\n"), $started);
    $ends = array_map(ended(...), $started);
    array_map(fn($end) => same($end[0], 0, $end[1]), $ends);
    return array_column($ends, 1);
}

$tests = [
    'the contract' => function () {
        $address = none();
        [$one, $other] = [opened(connected($address)), opened(connected($address))];
        $now = $one->now();
        same(abs($now - time()) < 5, true, "the time is $now");

        // What one server has stored, the other loads; another owner's count is their own.
        $sent = ['event' => null] + order_of('ORDER-1', ['now' => $now, 'open' => 0]);
        $sent['rows'][0]['names'] = ['ORDER-1'];
        same($one->commit($sent), true);
        same($other->load('ORDER-1', AWA, $now), ['order' => $sent['body'], 'open' => 1, 'taken' => []]);
        same($other->load('ORDER-2', 'customer:paul', $now), ['order' => null, 'open' => 0, 'taken' => []]);

        // Of two that were decided from one version, one is stored, and nothing of the other.
        $reply = function (string $id) use ($sent) {
            $rows = [['names' => ['ORDER-1', $id, "gch_$id"]] + $sent['rows'][0]];
            return ['version' => 2, 'body' => json_encode($id), 'before' => 1, 'open' => null, 'rows' => $rows] + $sent;
        };
        same($one->commit($reply('pi_1')), true, 'the first of two is refused');
        same($other->commit($reply('pi_2')), false, 'a commit from an older version is stored');
        same($other->commit(['before' => null] + $reply('pi_2')), false, 'an order that exists is created');
        same($other->commit(['name' => 'ORDER-9'] + $reply('pi_2')), false, 'an order that is missing is changed');
        same($one->load('ORDER-1', AWA, $now)['order'], '"pi_1"', 'a refused commit has changed the order');
        same($one->find('pi_2'), [], 'a refused commit has left a name');

        // A payment is found by each of its names.
        array_map(fn($name) => same($other->find($name), ['ORDER-1'], $name), ['ORDER-1', 'pi_1', 'gch_pi_1']);

        // A new payment is stored only if its owner's count is still that by which it was decided.
        foreach ([[0, false], [2, false], [1, true]] as [$open, $is]) {
            $commit = ['event' => null] + order_of('ORDER-3', ['now' => $now, 'open' => $open]);
            same($one->commit($commit), $is, "one counts, and $open was decided by");
        }
        same($one->load('ORDER-3', AWA, $now + DAY - 1)['open'], 2);
        same($one->load('ORDER-3', AWA, $now + DAY)['open'], 0, 'a payment counts for longer than it says');

        // No reference is two orders'.
        $twin = ['rows' => $sent['rows']] + order_of('ORDER', ['now' => $now, 'open' => 2]);
        same($one->commit($twin), false, 'a reference of another order is stored');
        $loaded = $one->load('ORDER', AWA, $now);
        same([$loaded['order'], $loaded['taken']], [null, ['ORDER-1', 'ORDER-3']]);
        same($one->events(), [], 'an order that was refused has an event');

        // A payment is due from its time on, and not any more when it says so.
        $due_at = $now + 3;
        same(references($other, $due_at - 1), [], 'a payment is due before its time');
        same(references($other, $due_at), ['ORDER-1', 'ORDER-3'], 'a payment is not due at its time');
        $one->returned('ORDER-1', $now);
        $due = fn(Store $store) => array_column($store->due($due_at + 1, LATEST), null, 'reference')['ORDER-1'];
        $row = ['reference' => 'ORDER-1', 'owner' => AWA, 'created_at' => $now, 'returned_at' => $now, 'since' => $due_at];
        same($due($other), $row);
        $one->postpone('ORDER-1', $due_at + 60);
        same(references($other, $due_at + 59), ['ORDER-3'], 'a payment that was postponed is due');
        same(references($other, 0, $due_at + 59), ['ORDER-1'], 'one whose time lies too far ahead is lost');
        $one->postpone('ORDER-1', $due_at);

        // An event stays until it is closed, on each server. When a payment was stored and returned stays as it was.
        $event = ['version' => 3, 'body' => '{"state":"paid"}'];
        $paid = ['version' => 3, 'before' => 2, 'owner' => 'customer:eve', 'event' => $event] + $reply('pi_1');
        $paid['rows'] = [['created_at' => $now + 50, 'due_at' => $due_at + 1, 'counts_until' => null] + $paid['rows'][0]];
        same($other->commit($paid), true);
        same($due($other), array_replace($row, ['owner' => 'customer:eve', 'since' => $due_at + 1]));
        same($one->load('ORDER-1', 'customer:eve', $now)['open'], 0);
        $over = ['version' => 4, 'before' => 3, 'rows' => [['due_at' => null] + $paid['rows'][0]], 'event' => null] + $paid;
        same($other->commit($over), true);
        same(references($one, $now + DAY), ['ORDER-3']);
        same($one->events(), [['name' => 'ORDER-1'] + $event]);
        $one->close('ORDER-1', 2);
        same(count($one->events()), 1, 'another version is closed');
        $one->close('ORDER-1', 3);
        $other->close('ORDER-1', 3);
        same($other->events(), [], 'a closed event is open');

        // What all servers share is replaced by one of two.
        $before = $one->shared();
        [$mine, $yours] = ['{"round_until":15}', '{"round_until":16}'];
        same($one->replace_shared($before, $mine), true, 'what is shared cannot be replaced');
        same($other->replace_shared($before, $yours), false, 'two servers have the round');
        same($other->replace_shared($mine, $mine), true, 'what is equal cannot be replaced');
        $other->open(fn() => $yours);
        same($one->shared(), $mine, 'a second start has replaced what is shared');
    },
    'names that are alike stay apart, and so do large versions' => function () {
        $store = opened(connected(none()));
        $names = ['A', 'a', 'A ', 'A-', 'A-1', 'A-é', 'A-z', 'A.1', 'A_1', 'AB-1', 'B', 'Ａ', 'é', "e\u{301}", "A'; --"];
        foreach ($names as $name) {
            same($store->commit(['event' => null] + order_of($name)), true, $name);
        }
        same($store->load('A', AWA, 1_000)['taken'], ['A-1', 'A-z', 'A-é'], 'by their bytes');
        same($store->load('a', AWA, 1_000)['taken'], []);
        same($store->load('a', strtoupper(AWA), 1_000)['open'], 0, 'owners that are alike');
        same($store->load('a', AWA . ' ', 1_000)['open'], 0, 'owners that are alike');
        array_map(fn($name) => same($store->find("pi_$name"), [$name]), $names);
        [$version, $later] = [LATEST - 1, LATEST];
        $large = fn($version, $before, $body) => order_of('LARGE', compact('version', 'before') + ['event' => compact('version', 'body')]);
        same($store->commit($large($version, null, '1')), true);
        same($store->commit($large($later, $later, '2')), false);
        same($store->commit($large($later, $version, '2')), true);
        $events = [['name' => 'LARGE', 'version' => $version, 'body' => '1'], ['name' => 'LARGE', 'version' => $later, 'body' => '2']];
        same($store->events(), $events, 'the oldest is first');
        $store->close('LARGE', $version);
        same($store->events(), [$events[1]]);
    },
    'of 64 clicks at once on two servers 20 are stored' => function () {
        $address = none();
        $stored = at_once([start('clicks', $address, '0'), start('clicks', $address, '1')]);
        same(array_sum($stored), 20, implode(' and ', $stored));
        $store = opened(connected($address));
        same([$store->load('ORDER-0', AWA, 1_000)['open'], count($store->events())], [20, 20]);
    },
    'servers that start at once create the tables once' => function () {
        $address = none();
        $shared = at_once(array_map(fn() => start('start', $address), range(1, 8)));
        same(count(array_unique($shared)), 1, implode("\n", $shared));
    },
    'a commit that fails at any table stores nothing' => function () {
        $database = connected(none());
        $store = opened($database);
        foreach (['orders', 'payments', 'names', 'events'] as $open => $table) {
            $commit = order_of("ORDER-$open", compact('open'));
            $database->exec("ALTER TABLE guichet_$table RENAME TO away");
            fails(fn() => $store->commit($commit), "guichet_$table");
            $database->exec("ALTER TABLE away RENAME TO guichet_$table");
            same(is_stored($store, $commit['name']), false, $table);
            same($store->commit($commit), true, $table);
            same(is_stored($store, $commit['name']), true, $table);
            same($store->commit($commit), false, 'a refused commit keeps its transaction open');
            same($database->inTransaction(), false);
        }
    },
    'a process that is killed between two statements has stored nothing' => function () {
        $address = none();
        opened(connected($address));
        // Before and after the count, the order, a payment and three names, each looked for and stored, and the event; in MySQL the lock,
        // whose end comes after the commit.
        $before = 2 * (is_mysql(connected($address)) ? 12 : 11);
        for ($count = 0; ; $count++) {
            [$end, $text] = ended(start('killed', $address, (string) $count, 'ORDER-1'));
            same(is_stored(opened(connected($address)), 'ORDER-1'), $count >= $before, "killed at $count");
            if ($end === 0) {
                same($text, $before > 22 ? 'false' : 'true', 'stored once');
                break;
            }
            same($end, SIGKILL);
        }
    },
    'a thousand payments of one customer are due' => function () {
        $database = connected(none());
        $store = opened($database);
        $names = array_map(fn($number) => sprintf('ORDER-%04d', $number), range(0, 999));
        array_map(fn($name) => same($store->commit(order_of($name)), true), $names);
        same($store->load('ORDER', AWA, 1_000), ['order' => null, 'open' => 1_000, 'taken' => $names]);
        same([references($store, 1_003), references($store, 1_002)], [$names, []]);
        same(array_column($store->events(), 'name'), $names);
    },
    'a wrong prefix is refused' => function () {
        $database = connected(none());
        foreach (['a b', "x'", 'Guichet_', '1_', 'é', 'a-', 'a;', "a\n", str_repeat('x', 31)] as $prefix) {
            fails(fn() => new Store($database, $prefix), 'A prefix is of the letters');
        }
        foreach ([str_repeat('x', 30), '_1', ''] as $prefix) {
            (new Store($database, $prefix))->open(first(...));
        }
    },
    'a newer ledger is refused by name before a table is created' => function () {
        $database = connected(none());
        $store = opened($database);
        $database->exec('UPDATE guichet_ledger SET format = 9');
        $database->exec('DROP TABLE guichet_names');
        fails(fn() => $store->open(first(...)), 'The table guichet_ledger has the format 9, which');
        fails(fn() => $store->find('pi_1'), 'guichet_names');
        $database->exec('UPDATE guichet_ledger SET format = 1');
        $store->open(first(...));
        same($store->commit(order_of('ORDER-1')), true, 'a table that is missing is created');
    },
    'a transaction of the shop is refused and stays' => function () {
        $database = connected(none());
        $store = opened($database);
        $database->exec('CREATE TABLE of_the_shop (id INTEGER)');
        $database->beginTransaction();
        $database->exec('INSERT INTO of_the_shop VALUES (1)');
        fails(fn() => $store->commit(order_of('ORDER-1')), 'within a transaction of the shop');
        $database->rollBack();
        same($database->query('SELECT count(*) FROM of_the_shop')->fetchColumn(), 0);
        same($store->commit(order_of('ORDER-1')), true);
    },
];
mkdir($folder);
$failed = failures($tests);
array_map(unlink(...), glob("$folder/*"));
rmdir($folder);
echo $server === null ? 'SQLite' : 'MySQL', ': ', count($tests) - $failed, " passed, $failed failed\n";
exit($failed > 0 ? 1 : 0);
