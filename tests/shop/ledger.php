<?php
declare(strict_types=1);
// Runs every case of ledger.json on `examples/php/ledger.php`, or on the file that is given, as src/shop/ledger/cases.rs does.
// Prints each case that fails with what is and what should be, and exits 1. Run it: php tests/shop/ledger.php
namespace Guichet\Ledger;

require $argv[1] ?? __DIR__ . '/../../examples/php/ledger.php';

// The lists of the file, and what a case of each may have. A misspelt member would decide nothing.
const LISTS = [
    'decisions' => ['name', 'of', 'order', 'rows', 'known', 'event', 'now', 'then'],
    'due' => ['name', 'of', 'row', 'service', 'now', 'is_due'],
    'claims' => ['name', 'of', 'until', 'now', 'is_free'],
    'rounds' => ['name', 'of', 'due', 'now', 'then'],
    'holds' => ['name', 'of', 'retry_after', 'now', 'until'],
    'shown' => ['name', 'of', 'row', 'now', 'then'],
];
const COMMON = ['about', 'order', 'row', 'found', 'click', 'seen'];
// The members of the Rust types, which refuse every other one.
const OF_ORDER = ['name', 'owner', 'is_claimed', 'version', 'asked', 'has_ended', 'paid_by', 'payments', 'refunded', 'entries'];
const OF_ROW = ['reference', 'created_at', 'body', 'nonce', 'mark', 'quote', 'sends', 'closed', 'sought_at', 'is_over', 'found'];
const OF_SEND = ['at', 'until', 'by_wrong_clock', 'results'];
const OF_FOUND = ['id', 'payment_ref', 'state', 'status', 'since', 'expires_at', 'asked_at', 'tried_at', 'is_missing',
    'cancel_at', 'is_over', 'payable', 'method', 'decided', 'duplicates', 'approvable_until', 'sealed', 'read_with'];
const OF_KNOWN = ['open', 'taken', 'service', 'service_now'];
const OF_SERVICE = ['finds', 'repeats', 'cancels', 'is_restoring', 'longest_reference', 'call', 'keep_days'];
const OF_EVENT = [
    'adopt' => ['reference', 'nonce', 'mark', 'at', 'seen'],
    'restored' => ['epoch'],
    'forget' => ['reference'],
    'click' => ['owner', 'visit', 'purchase', 'nonce', 'mark', 'quote'],
    'reply' => ['reference', 'send', 'earlier', 'got'],
    'reading' => ['reference', 'asked', 'at', 'for_page', 'got'],
    'resolve' => ['reference', 'id', 'attempt', 'verdict', 'who', 'why'],
];
const OF_SEEN = ['id', 'payment_ref', 'reference', 'amount', 'currency', 'status', 'created_at', 'expires_at', 'date', 'mark',
    'email', 'payable', 'method', 'duplicates', 'approvable_until', 'address', 'read_with'];
const OF_DUE = ['reference', 'owner', 'created_at', 'returned_at', 'since'];

function fail(string $message): never {
    fwrite(STDERR, "$message\n");
    exit(2);
}

function json(mixed $value): string {
    return json_encode($value, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
}

function only(mixed $value, array $names): void {
    foreach ($value instanceof \stdClass ? get_object_vars($value) : (array) $value as $name => $_) {
        in_array($name, $names, true) || fail("The member $name is not known: " . json($value));
    }
}

// `base` with the members of `over`, objects member by member; null removes a member. Objects are `stdClass` until `plain`.
function merged(mixed $base, mixed $over): mixed {
    if (!$base instanceof \stdClass || !$over instanceof \stdClass) {
        return $over;
    }
    $all = clone $base;
    foreach (get_object_vars($over) as $name => $value) {
        $all->$name = merged($base->$name ?? null, $value);
    }
    return (object) array_filter(get_object_vars($all), fn($value) => $value !== null);
}

function plain(mixed $value): mixed {
    return json_decode(json($value), true, 512, JSON_THROW_ON_ERROR);
}

function payment_of(\stdClass $file, \stdClass $row): array {
    $row = merged($file->row, $row);
    $row->found = array_map(fn($one) => merged($file->found, $one), $row->found ?? []);
    only($row, OF_ROW);
    only($row->closed ?? null, ['at', 'why']);
    foreach ($row->found as $found) {
        only($found, OF_FOUND);
        $duplicates = $found->duplicates ?? [];
        array_walk($duplicates, fn($one) => only($one, ['attempt', 'amount']));
    }
    $row = plain($row);
    foreach ($row['sends'] ?? [] as $send) {
        only($send, OF_SEND);
    }
    return filled_payment($row);
}

function order_of(\stdClass $file, \stdClass $members, array $rows): array {
    $order = merged($file->order, $members);
    only($order, OF_ORDER);
    return filled_order(['payments' => array_map(fn($row) => payment_of($file, $row), $rows)] + plain($order));
}

function event_of(\stdClass $file, \stdClass $event): array {
    $event = clone $event;
    only($event, array_keys(OF_EVENT));
    if (isset($event->click)) {
        $event->click = merged($file->click, $event->click);
    }
    if (isset($event->adopt->seen)) {
        $event->adopt = merged($event->adopt, (object) ['seen' => (object) []]);
        $event->adopt->seen = merged($file->seen, $event->adopt->seen);
        only($event->adopt->seen, OF_SEEN);
    }
    foreach (['reply', 'reading'] as $kind) {
        if (isset($event->$kind->got->payment)) {
            $seen = merged($file->seen, $event->$kind->got->payment);
            only($seen, OF_SEEN);
            only($seen->address ?? null, ['plain', 'sealed']);
            $event->$kind = merged($event->$kind, (object) ['got' => (object) ['payment' => $seen]]);
            $event->$kind->got->payment = $seen;
        }
    }
    foreach (get_object_vars($event) as $kind => $members) {
        only($members, OF_EVENT[$kind]);
    }
    return plain($event);
}

function known_of(\stdClass $known): array {
    only($known, OF_KNOWN);
    only($known->service ?? null, OF_SERVICE);
    return plain($known);
}

function line_of_effect(array|string $effect): string {
    if (is_string($effect)) {
        return strtr($effect, '_', ' ');
    }
    $of = current($effect);
    return match (array_key_first($effect)) {
        'send' => "send {$of['reference']}" . ($of['may_retry'] ? '' : ' once'),
        'ask' => $of['asked'] === 'find' ? "find {$of['reference']}" : key($of['asked']) . ' ' . current($of['asked']),
        'alarm' => rtrim("alarm {$of['what']} {$of['about']}"),
        'answer' => match (array_key_first($of)) {
            'lead' => "lead {$of['lead']['id']}" . (isset($of['lead']['address']['sealed']) ? ' sealed' : ''),
            'paid' => "paid {$of['paid']['id']}",
            'error' => "answer {$of['error']['status']} {$of['error']['code']}",
        },
        'order_changed' => line_of_change($of),
    };
}

function line_of_change(array $of): string {
    $line = "version {$of['version']} {$of['state']}";
    if (isset($of['paid_by'])) {
        $line .= " by {$of['paid_by']['id']} {$of['paid_by']['amount']}";
        $line .= isset($of['paid_by']['status']) ? " now {$of['paid_by']['status']}" : '';
    }
    foreach ($of['refunds_due'] as $due) {
        $attempt = isset($due['attempt']) ? " attempt {$due['attempt']}" : '';
        $line .= ", refund {$due['id']}$attempt {$due['amount']}" . ($due['plus_fee'] ?? false ? ' plus fee' : '');
    }
    return $line . ($of['restored'] ?? false ? ', restored' : '');
}

// Which arrays in a value are lists: `is_same` does not see the order of keys.
function lists(mixed $value): mixed {
    return is_array($value) ? [array_is_list($value), array_map(lists(...), $value)] : null;
}

// What a case gives, and what it should, each to be printed and compared.
function run(string $list, \stdClass $file, \stdClass $case): array {
    $now = $case->now;
    switch ($list) {
        case 'decisions':
            [$then, $none] = [$case->then, new \stdClass()];
            only($then, ['order', 'rows', 'effects']);
            $members = $case->order ?? $none;
            $should = order_of($file, merged($members, $then->order ?? $none), $then->rows);
            $order = order_of($file, $members, $case->rows);
            $given = json($order);
            $decision = decide($order, known_of($case->known), event_of($file, $case->event), $now);
            json($order) === $given || fail("$case->name: decide has changed the order that it was given.");
            $is = ['order' => $decision['order'], 'effects' => array_map(line_of_effect(...), $decision['effects'])];
            return [$is, ['order' => $should, 'effects' => $then->effects]];
        case 'due':
            only($case->service, OF_SERVICE);
            [$row, $service] = [payment_of($file, $case->row), plain($case->service)];
            $is_due = to_read($row, $service, $now) !== [] || is_to_forget($row, $service, $now)
                || (reported_at($row, $service, $now) ?? $now + 1) <= $now;
            $due = due($row, $service, $now);
            return [[$is_due, $due !== null && $due <= $now], [$case->is_due, $case->is_due]];
        case 'claims':
            return [is_free($case->until, $now), $case->is_free];
        case 'rounds':
            array_walk($case->due, fn($one) => only($one, OF_DUE));
            return [array_column(round_of(plain($case->due), $now), 'reference'), $case->then];
        case 'holds':
            $until = hold_until($case->retry_after, $now);
            $holds = [is_held($until, $now), is_held($until, $until), is_held($now + DAY, $now)];
            return [['until' => $until, 'holds' => $holds], ['until' => $case->until, 'holds' => [true, false, false]]];
        case 'shown':
            $order = order_of($file, new \stdClass(), [$case->row]);
            [$row] = $order['payments'];
            $until = counts_until($row);
            return [[
                'counts_as_open' => $until !== null && $now < $until,
                'is_confirmed' => array_filter($row['found'], fn($found) => !is_confirmed($found, $now)) === [],
                'not_readable' => array_map(fn($one) => $one[1] ?? $one[0], not_readable($order, $now)),
            ], plain($case->then)];
    }
}

$file = json_decode(file_get_contents(__DIR__ . '/ledger.json'), false, 512, JSON_THROW_ON_ERROR);
only($file, [...array_keys(LISTS), ...COMMON]);
[$names, $failed] = [[], 0];
foreach (LISTS as $list => $members) {
    foreach ($file->$list as $case) {
        only($case, $members);
        in_array($case->name, $names, true) && fail("Two cases have the name $case->name.");
        $names[] = $case->name;
        [$is, $should] = run($list, $file, $case);
        if (!is_same($is, $should) || !is_same(lists($is), lists($should))) {
            $failed++;
            echo "$case->name:\n  is     ", json($is), "\n  should ", json($should), "\n";
        }
    }
}
$passed = count($names) - $failed;
echo "$passed cases pass, $failed fail.\n";
exit($failed > 0 ? 1 : 0);
