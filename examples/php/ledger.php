<?php
declare(strict_types=1);
// What a shop decides about its payments, without socket, clock or database: in PHP 8.2 what `src/shop/ledger/` does in
// Rust. tests/shop/ledger.json has the cases.
//
// `decide` says what an event means for an order. Commit the order that it returns if nobody has changed it meanwhile.
// Then carry out the effects in their order: each brings another event. Orders, events and effects are arrays in the
// shape of the Rust types as JSON, times are Unix seconds, and amounts are texts that are compared by value.
namespace Guichet\Ledger;

const DAY = 24 * 60 * 60, CLOCKS_DIFFER = 5 * 60, CANNOT_BE_ASKED = 15 * 60, LONG_DUE = 10 * 60; // all in seconds
const PROCESSING = 3 * DAY, LONGEST_EXPIRY = 30 * DAY, LONG_READ = 30 * DAY, LONGEST_WAIT = 30 * DAY, PAUSE_AFTER_END = DAY / 40;
const LONGEST_PAUSE = 60 * 60, LONGEST_HOLD = 15 * 60, CANCEL_AGAIN = 60 * 60, CLAIM = 15;
const MAX_OPEN = 20, AT_A_TIME = 8, NUMBER = 6; // the last is the room in a reference for `-1` to `-99999`
const STATES = ['paid', 'different', 'sent', 'open', 'ended']; // an order is the first that any of its payments is
const SPACE = '\x{9}-\x{d} \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}';
const REFUSALS = [400, 413, 415, 422]; // statuses that refuse the data of a creation
const REFUSED_REPEATS = [400, 401, 403, 404, 408, 409, 413, 415, 422, 429]; // statuses that refuse to repeat it

// What an absent member is.
const ORDER = ['is_claimed' => false, 'version' => 0, 'asked' => null, 'has_ended' => false, 'paid_by' => null,
    'payments' => [], 'refunded' => [], 'entries' => []];
const PAYMENT = ['created_at' => 0, 'nonce' => '', 'mark' => '', 'quote' => null, 'sends' => [], 'closed' => null,
    'sought_at' => null, 'is_over' => false, 'found' => []];
const SEND = ['by_wrong_clock' => false, 'results' => []];
const FOUND = ['payment_ref' => null, 'since' => 0, 'expires_at' => null, 'asked_at' => null, 'tried_at' => 0,
    'is_missing' => false, 'cancel_at' => null, 'is_over' => false, 'payable' => null, 'method' => null, 'decided' => null,
    'duplicates' => [], 'approvable_until' => null, 'sealed' => null, 'read_with' => null];
const SERVICE = ['finds' => false, 'repeats' => true, 'cancels' => false, 'is_restoring' => false,
    'longest_reference' => 50, 'call' => 60, 'keep_days' => null];
const KEPT = ['amount' => 0, 'currency' => 0, 'fee_bearer' => 0]; // what stays when personal data are deleted
const CLICK = ['visit' => null, 'nonce' => '', 'mark' => '', 'quote' => null];
const SEEN = ['payment_ref' => null, 'reference' => null, 'amount' => null, 'currency' => null, 'created_at' => null,
    'expires_at' => null, 'date' => null, 'mark' => null, 'email' => null, 'payable' => null, 'method' => null, 'duplicates' => [],
    'approvable_until' => null, 'address' => null, 'read_with' => null];

// What an event means for an order. `$now` is the database's clock; with a test key, the service's.
function decide(array $order, array $known, array $event, int $now): array {
    $deciding = new Deciding(filled_order($order), $known, ($known['service'] ?? []) + SERVICE, $now);
    $kind = array_key_first($event);
    $index = place($deciding->order['payments'], 'reference', $event[$kind]['reference'] ?? '');
    $last = match (true) {
        $kind === 'click' => $deciding->click($event['click'] + CLICK),
        $kind === 'adopt' => $deciding->adopt($event['adopt']),
        $kind === 'restored' => $deciding->restored(),
        $index !== null => $deciding->$kind($deciding->order['payments'][$index], $event[$kind]),
        default => $kind === 'resolve' ? error(404, 'payment_missing') : null,
    };
    return $deciding->finish(filled_order($order), $last, $event['restored']['epoch'] ?? null);
}
// When anything of this payment is read again, or its personal data are deleted; null: not any more.
function due(array $payment, array $service, int $now): ?int {
    $times = array_column(readings($payment, $service, $now), 0);
    $others = array_filter([reported_at($payment, $service, $now), forgotten_at($payment, $service)], is_int(...));
    return $times === [] ? ($others === [] ? null : min($others)) : min($times);
}
// When a payment is due again of which nothing is read now. Nothing is stored further ahead than the time by
// which a wrong clock shows.
function due_again(array $payment, array $service, int $now): int {
    $at = due($payment, $service, $now) ?? $now + LONGEST_WAIT;
    return $at > $now ? min($at, $now + LONGEST_WAIT) : $now + PAUSE_AFTER_END;
}
// When to report a payment that cannot be read: its creation got no reply, and the service has no search.
function reported_at(array $payment, array $service, int $now): ?int {
    $until = reported_until($payment, $service);
    $last = array_column($payment['sends'] ?? [], 'until') ?: [$payment['created_at'] ?? 0];
    return $until !== null && $now < $until ? max($last) : null;
}
// For 30 days while it may still be paid, and for a day after it was left.
function reported_until(array $payment, array $service): ?int {
    ['found' => $found, 'closed' => $closed, 'created_at' => $created_at] = filled_payment($payment);
    $until = $closed === null ? $created_at + LONGEST_WAIT : ($closed['why'] === 'left' ? $closed['at'] + DAY : null);
    return $found === [] && !($service + SERVICE)['finds'] ? $until : null;
}
// Whether nothing more is read of this payment, and its personal data have been kept for long enough.
function is_to_forget(array $payment, array $service, int $now): bool {
    return readings($payment, $service, $now) === [] && (forgotten_at($payment, $service) ?? $now + 1) <= $now;
}
// So many days after its end as the shop keeps personal data, if it has any. One that got no reply ends when it is no longer
// reported.
function forgotten_at(array $payment, array $service): ?int {
    $states = array_filter(array_column($payment['found'] ?? [], 'state'), is_array(...));
    $ends = [...array_column(array_map(current(...), array_values($states)), 'at'), $payment['closed']['at'] ?? null];
    $ends = array_filter($ends, is_int(...)) ?: [reported_until($payment, $service)];
    $is_kept = ($service['keep_days'] ?? null) === null || array_diff_key($payment['body'], KEPT) === [];
    return $is_kept || max($ends) === null ? null : max($ends) + $service['keep_days'] * DAY;
}
// What is read of this payment now: each is `['read' => ID]`, or `'find'`: by its reference.
function to_read(array $payment, array $service, int $now): array {
    return array_column(array_filter(readings($payment, $service, $now), fn($one) => $one[0] <= $now), 1);
}
// Each of the service's is read by its id; what the service is not known to have, by its reference, where it can be.
function readings(array $payment, array $service, int $now): array {
    [$payment, $service, $readings] = [filled_payment($payment), $service + SERVICE, []];
    $after = fn(int $last, int $pause) => $last > $now ? $now : $last + $pause; // a time ahead was by a wrong clock
    foreach (array_filter($payment['found'], fn($found) => !$found['is_over']) as $found) {
        $readings[] = [$after($found['tried_at'], pause($found, $now)), ['read' => $found['id']]];
    }
    $is_sought = $service['finds'] && !$payment['is_over'] && ($payment['closed']['why'] ?? null) !== 'refused';
    if ($payment['found'] === [] && $is_sought) {
        $first = min(array_column($payment['sends'], 'until') ?: [$payment['created_at']]);
        $pause = $payment['closed'] === null ? pause_by_age($now - $payment['created_at']) : PAUSE_AFTER_END;
        $readings[] = [$payment['sought_at'] === null ? $first : $after($payment['sought_at'], $pause), 'find'];
    }
    return $readings;
}
function pause(array $found, int $now): int {
    return match (true) {
        kind($found) === 'open' => pause_by_age($now - $found['since']),
        kind($found) === 'different', ended_why($found) === 'timed_out', $found['is_missing'] => DAY,
        default => PAUSE_AFTER_END,
    };
}
// Three seconds, and one more for each minute of its age.
function pause_by_age(int $age): int { return max(3, min(3 + intdiv($age, 60), LONGEST_PAUSE)); }
// Which due payments are read now: first those that have been due for ten minutes; then each owner's first before any
// owner's second, those that a customer has returned to, and then the youngest.
function round_of(array $due, int $now): array {
    [$turn_of, $turns] = [[], []];
    $is_away = fn($one) => ($one['returned_at'] ?? null) === null;
    usort($due, fn($a, $b) => [$is_away($a), -$a['created_at']] <=> [$is_away($b), -$b['created_at']]);
    foreach ($due as $one) {
        $turn = $turn_of[$one['owner']] = ($turn_of[$one['owner']] ?? -1) + 1;
        $is_long_due = $now - $one['since'] >= LONG_DUE;
        $key = $is_long_due ? [0, $turn, 0, $one['since']] : [1, $turn, (int) $is_away($one), -$one['created_at']];
        $turns[] = [$key, $one];
    }
    usort($turns, fn($a, $b) => $a[0] <=> $b[0]);
    return array_slice(array_column($turns, 1), 0, AT_A_TIME);
}
// Whether a round may begin that another server has until then. Further ahead than a claim, its clock was wrong.
function is_free(int $until, int $now): bool { return $until <= $now || $until > $now + CLAIM; }
// Until when a 429 holds the round back.
function hold_until(?int $retry, int $now): int { return $now + max(1, min($retry ?? CLAIM, LONGEST_HOLD)); }
// Whether a round is held back until then. Further ahead than the longest hold, a clock was wrong.
function is_held(int $until, int $now): bool { return $until > $now && $until <= $now + LONGEST_HOLD; }
// Until when a payment is one of its owner's twenty; null: it is not.
function counts_until(array $payment): ?int {
    $payment = filled_payment($payment);
    return in_array(state($payment), ['sent', 'open'], true) ? $payment['created_at'] + DAY : null;
}
// If this is false, a page says *not confirmed* of an open payment, never *unpaid*: it was not read for ten minutes.
function is_confirmed(array $found, int $now): bool {
    return kind($found) !== 'open' || (isset($found['asked_at']) && $now - $found['asked_at'] < LONG_DUE);
}
// What cannot be read, or is not what was sent: a person looks for its money. Each is a reference, and an id or null.
function not_readable(array $order, int $now): array {
    $named = [];
    foreach (filled_order($order)['payments'] as $payment) {
        $was_left = ($payment['closed']['why'] ?? null) === 'left' && $now - $payment['closed']['at'] < DAY;
        if ($payment['found'] === [] && ($was_left || in_array(state($payment), ['sent', 'different'], true))) {
            $named[] = [$payment['reference'], null];
        }
        $is_named = fn($found) => match (kind($found)) {
            'different' => true,
            'open' => !is_confirmed($found, $now),
            'ended' => ended_why($found) === 'timed_out' || $found['is_missing'] || $found['status'] === 'succeeded',
            'paid' => false,
        };
        $ids = array_column(array_filter($payment['found'], $is_named), 'id');
        $named = [...$named, ...array_map(fn($id) => [$payment['reference'], $id], $ids)];
    }
    return $named;
}
// The first state of the table that any of its payments is in; null without a payment.
function state_of_order(array $order): ?string {
    return current(array_intersect(STATES, array_map(state(...), $order['payments']))) ?: null;
}
// What a payment is. One that was refused or left stays ended when it is found, unless it was paid or is different.
function state(array $payment): string {
    [$kinds, $closed] = [array_map(kind(...), $payment['found']), $payment['closed']];
    return match (true) {
        in_array('paid', $kinds, true) => 'paid',
        in_array('different', $kinds, true), ($closed['why'] ?? null) === 'conflict' => 'different',
        $closed === null && $kinds === [] => 'sent',
        $closed === null && in_array('open', $kinds, true) => 'open',
        default => 'ended',
    };
}
// What a payment of the service is: open, ended, paid or different.
function kind(array $found): string { return is_array($found['state']) ? key($found['state']) : $found['state']; }
function ended_why(array $found): ?string { return $found['state']['ended']['why'] ?? null; }
// When a word that is not final ends it: when it expires, or after a day.
function ends_at(array $found): int {
    $end = min($found['expires_at'] ?? $found['since'] + DAY, $found['since'] + LONGEST_EXPIRY);
    return $found['status'] === 'processing' ? max($end, $found['since'] + PROCESSING) : $end;
}
// The first that may be paid of a payment that is open.
function first_open(array $payment): ?array {
    $is_open = fn($found) => state($payment) === 'open' && kind($found) === 'open';
    return current(array_filter($payment['found'], $is_open)) ?: null;
}
// Everything that the service has of an order, each with its payment.
function all_found(array $order): array {
    $of_payment = fn($payment) => array_map(fn($found) => [$payment, $found], $payment['found']);
    return array_merge(...array_map($of_payment, $order['payments']));
}
// Whether the service may still execute one of these sends: its time is not over, and an attempt of it got no status.
function may_be_executed(array $sends, int $now): bool {
    $is_answered = fn($send) => $send['results'] !== [] && !in_array('lost', $send['results'], true);
    return array_filter($sends, fn($send) => $send['until'] > $now && !$is_answered($send)) !== [];
}
// Whether each attempt of each send was refused for its data.
function was_refused(array $sends): bool {
    $is_other = fn($result) => !in_array($result['status'] ?? null, REFUSALS, true);
    $is_unclear = fn($send) => $send['results'] === [] || array_filter($send['results'], $is_other) !== [];
    return $sends !== [] && array_filter($sends, $is_unclear) === [];
}
// What paid an order, and its payment: the first that succeeded, whatever the service says of it later.
function what_paid(array $order): array {
    $id = $order['paid_by'];
    $has_paid = fn($one) => $id === null ? kind($one[1]) === 'paid' : $one[1]['id'] === $id;
    return current(array_filter(all_found($order), $has_paid)) ?: [null, null];
}
// The whole state of an order, for the shop.
function changed(array $order): array {
    $order = filled_order($order);
    [$payment, $found] = $order['paid_by'] === null ? [null, null] : what_paid($order);
    $change = ['name' => $order['name'], 'version' => $order['version'], 'refunds_due' => refunds_due($order)];
    if ($found === null) {
        return $change + ['state' => 'unpaid', 'paid_by' => null, 'asked' => null];
    }
    $sum = $found['decided'] ?? sum($payment['body']);
    $is_other_word = $found['status'] !== 'succeeded' && $found['decided'] === null;
    $by = ['id' => $found['id'], 'reference' => $payment['reference'], ...$sum];
    $by['status'] = $is_other_word ? $found['status'] : null;
    $is_other_sum = $order['asked'] !== null && !is_same($sum, $order['asked']);
    $state = $order['has_ended'] ? 'paid_after_end' : ($is_other_sum ? 'paid_other_sum' : 'paid');
    return $change + ['state' => $state, 'paid_by' => $by, 'asked' => $order['asked']];
}
// Every payment that succeeded but the first, and every attempt that was paid besides, until it is given back.
function refunds_due(array $order): array {
    $due = [];
    foreach (all_found($order) as [$payment, $found]) {
        $is_whole_due = kind($found) === 'paid' && $found['id'] !== $order['paid_by'];
        $due = $is_whole_due ? [...$due, whole($payment, $found)] : $due;
        foreach ($found['duplicates'] as $one) {
            $known = isset($one['amount']) ? ['amount' => $one['amount']] + sum($payment['body']) : [];
            $due[] = ['id' => $found['id'], 'attempt' => $one['attempt']] + ($known ?: whole($payment, $found));
        }
    }
    $made = array_map(refund_key(...), $order['refunded']);
    return array_values(array_filter($due, fn($one) => !in_array(refund_key($one), $made, true)));
}
function refund_key(array $refund): string {
    return $refund['id'] . (isset($refund['attempt']) ? "\0" . $refund['attempt'] : '');
}
// What was paid: as a person says, else `amount_payable`, else the quote, else the amount plus a fee that is unknown.
function whole(array $payment, array $found): array {
    [$sum, $with_fee] = [sum($payment['body']), $found['payable'] ?? $payment['quote']];
    $known = $found['decided'] ?? ($with_fee === null ? null : ['amount' => $with_fee] + $sum);
    $plus_fee = $known === null && ($payment['body']['fee_bearer'] ?? null) === 'customer';
    return ['id' => $found['id'], ...($known ?? $sum), 'plus_fee' => $plus_fee];
}
function sum(array $body): array {
    return ['amount' => $body['amount'] ?? '0', 'currency' => $body['currency'] ?? 'XAF'];
}
// The body of a request that creates a payment: with its reference, the return nonce in its address, and its mark.
function creation(array $payment): string {
    $body = ['merchant_reference' => $payment['reference']] + $payment['body'];
    if (is_string($body['redirect_url'] ?? null)) {
        $body['redirect_url'] = with_nonce($body['redirect_url'], $payment['nonce'] ?? '');
    }
    $metadata = is_array($body['metadata'] ?? null) && !array_is_list($body['metadata']) ? $body['metadata'] : [];
    $body['metadata'] = ['guichet_mark' => $payment['mark'] ?? ''] + $metadata;
    return json_encode($body, JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR);
}
// Sets the parameter of the return nonce, replacing an existing one, and leaves every other byte as it was.
function with_nonce(string $address, string $nonce): string {
    [$rest, $fragment] = explode('#', $address, 2) + [1 => null];
    [$path, $query] = explode('?', $rest, 2) + [1 => ''];
    $is_other = fn($pair) => $query !== '' && urldecode(explode('=', $pair, 2)[0]) !== 'guichet_return';
    $pairs = [...array_filter(explode('&', $query), $is_other), "guichet_return=$nonce"];
    return $path . '?' . implode('&', $pairs) . ($fragment === null ? '' : "#$fragment");
}
// The name of the first member of a purchase that no service would take; null: none.
function wrong_member(mixed $purchase): ?string {
    if (!is_array($purchase) || ($purchase !== [] && array_is_list($purchase))) { return 'purchase'; }
    $space = SPACE;
    $not = "@\\x{0}-\\x{20}\\x{7f}-\\x{9f}$space";
    $label = "[^$not.\\-]([^$not.]*[^$not.\\-])?";
    $forms = ['firstname' => "/[^$space]/u", 'lastname' => "/[^$space]/u", 'description' => "/[^$space]/u",
        'amount' => '/^[1-9][0-9]{0,14}$/D', 'currency' => '/^[A-Z]{3}$/D', 'redirect_url' => '/^http/i',
        'fee_bearer' => '/^(merchant|customer)$/D', 'email' => "/^(?=.{0,254}\$)[^$not]+@$label(\\.$label)+\$/uD",
        'phone' => '/^[0-9]{7,15}$/D'];
    foreach ($forms as $name => $form) {
        $text = $purchase[$name] ?? null;
        $is_good = is_string($text) && preg_match($form, $text) && ($name !== 'redirect_url' || is_redirect_url($text));
        $is_required = in_array($name, ['firstname', 'lastname', 'description'], true);
        if (!$is_good && ($is_required || $text !== null)) { return $name; }
    }
    return match (true) {
        !in_array($purchase['confirm'] ?? null, [null, false], true) => 'confirm',
        !isset($purchase['amount']) => 'amount',
        !isset($purchase['email']) && !isset($purchase['phone']) => 'email',
        array_key_exists('merchant_reference', $purchase) => 'merchant_reference',
        default => null,
    };
}
// Whether an address is absolute https (http on this machine and under `.test`), has no user name, and is one that no
// parser corrects. IPv4 is taken in four decimal numbers alone; a name that is not ASCII is not judged.
function is_redirect_url(string $text): bool {
    $form = '~^(https?)://(?:\[([0-9a-f:.]+)\]|([^][@/?#:]+))(?::(\d*))?(?:[/?#][^\x00-\x1f\x7f\\\\]*)?(?<! )$~iD';
    $has_form = preg_match($form, $text, $parts) === 1 && length($text) <= 2048 && (int) ($parts[4] ?? 0) <= 65535;
    [, $scheme, $ipv6, $name] = $parts + ['', '', '', ''];
    $name = strtolower(rawurldecode($name));
    $is_ip = filter_var($ipv6 ?: $name, FILTER_VALIDATE_IP) !== false;
    $is_number = $name === '' || preg_match('/(^|\.)(\d+|0x[0-9a-f]*)\.?$/D', $name);
    $is_host = $is_number ? $is_ip : preg_match('~[\x00-\x20#%/:<>?@[\\\\\]^|\x7f' . SPACE . ']~u', $name) === 0;
    $is_local = preg_match('/(^|\.)localhost$|\.test$/D', $name)
        || ($is_ip && ($ipv6 === '' ? str_starts_with($name, '127.') : inet_pton($ipv6) === inet_pton('::1')));
    return $has_form && $is_host && ($is_local || strtolower($scheme) === 'https');
}
// The number of characters of a text in UTF-8.
function length(string $text): int { return preg_match_all('/[^\x80-\xbf]/', $text); }
// The shortest text that writes the same amount: `45000` for `45000.00`.
function value(string $amount): string {
    $is_amount = preg_match('/^(-?)(?=\d)0*(\d{0,20})(?:\.(\d{0,18}))?$/D', $amount, $parts) === 1;
    if (!$is_amount || strcmp(sprintf('%020s', $parts[2]), '18446744073709551615') > 0) {
        throw new \InvalidArgumentException('An amount is a number in the smallest currency unit: 5000.');
    }
    $text = ($parts[2] === '' ? '0' : $parts[2]) . rtrim('.' . rtrim($parts[3] ?? '', '0'), '.');
    return $text === '0' ? '0' : $parts[1] . $text;
}
// Whether two values are equal, whatever the order of their members. Members of these names are compared as amounts.
function is_same(mixed $one, mixed $other, array $amounts = ['amount', 'payable'], string|int $name = ''): bool {
    if (!is_array($one) || !is_array($other)) {
        $are_amounts = in_array($name, $amounts, true) && is_string($one) && is_string($other);
        return $one === $other || ($are_amounts && value($one) === value($other));
    }
    $is_here = fn($name) => array_key_exists($name, $other) && is_same($one[$name], $other[$name], $amounts, $name);
    return count($one) === count($other) && array_filter(array_keys($one), $is_here) === array_keys($one);
}
// Where the one of a list is that has this text.
function place(array $list, string $name, string $text): ?int {
    $place = array_search($text, array_column($list, $name), true);
    return $place === false ? null : $place;
}
function filled_order(array $order): array {
    return ['payments' => array_map(filled_payment(...), $order['payments'] ?? [])] + $order + ORDER;
}
function filled_payment(array $payment): array {
    $all = fn($list, $members) => array_map(fn($one) => $one + $members, $list);
    [$sends, $found] = [$all($payment['sends'] ?? [], SEND), $all($payment['found'] ?? [], FOUND)];
    return ['sends' => $sends, 'found' => $found] + $payment + PAYMENT;
}
function error(int $status, string $code): array { return ['answer' => ['error' => compact('status', 'code')]]; }
function ask(array $payment, array|string $asked, bool $for_page = true): array {
    return ['ask' => ['reference' => $payment['reference'], 'asked' => $asked, 'for_page' => $for_page]];
}
// The id and the address of a payment in a reply.
function address(?array $seen): ?array {
    return isset($seen['address']) ? [$seen['id'], $seen['address']['plain']] : null;
}
// Reading ends with one that was asked for a day after the end and succeeded; 30 days after it, if no final word ended
// it or the service does not have it any more.
function end_reading(array $payment, int $at): array {
    foreach ($payment['found'] as &$found) {
        $is_read = $found['asked_at'] === $at || $found['is_missing'];
        $span = $found['is_missing'] || ended_why($found) === 'timed_out' ? LONG_READ : DAY;
        $is_past = is_array($found['state']) && $at >= current($found['state'])['at'] + $span;
        $found['is_over'] = $found['is_over'] || ($is_read && $is_past);
        $found['sealed'] = $found['is_over'] && $is_read ? null : $found['sealed'];
        $found['read_with'] = $found['is_over'] && $is_read ? null : $found['read_with'];
    }
    $is_past = $payment['closed'] !== null && $at >= $payment['closed']['at'] + DAY;
    $is_sought = $payment['found'] === [] && $payment['sought_at'] === $at;
    return ['is_over' => $payment['is_over'] || ($is_sought && $is_past)] + $payment;
}

// An order that is being decided. A method returns the last effect of what it does.
final class Deciding {
    private array $effects = [];
    private bool $clock_is_wrong; // by such a clock nothing ends, is left or is no longer read because of its age
    private int $latest_now; // of two clocks that contradict each other, by the later one

    public function __construct(public array $order, private array $known, private array $service, private int $now) {
        $this->clock_is_wrong = abs($now - ($known['service_now'] ?? $now)) > CLOCKS_DIFFER;
        $this->latest_now = $this->clock_is_wrong ? max($known['service_now'], $now) : $now;
    }
    private function alarm(string $what, string $about = ''): void {
        $this->effects[] = ['alarm' => compact('what', 'about')];
    }
    // Nothing is deleted by a clock that is wrong, or that no reply has confirmed.
    public function forget(array &$payment): null {
        $is_confirmed = ($this->known['service_now'] ?? null) !== null && !$this->clock_is_wrong;
        if ($is_confirmed && is_to_forget($payment, $this->service, $this->now)) {
            $payment['body'] = array_intersect_key($payment['body'], KEPT);
        }
        return null;
    }
    private function close(array &$payment, string $why): void {
        $payment['closed'] = ['at' => $this->latest_now, 'why' => $why];
    }
    // The later of two times. One that lies ahead was stored by a clock that was.
    private function later(?int $old, int $new): int {
        return $old === null || $old > $this->now ? $new : max($old, $new);
    }
    private function ended(string $why): array { return ['ended' => ['at' => $this->latest_now, 'why' => $why]]; }
    // Whether a reading may end anything by its age. One that lies ahead was asked for by a clock that was wrong.
    private function ages(int $at): bool { return $at <= $this->now + CLOCKS_DIFFER && !$this->clock_is_wrong; }
    private function enter(array $payment, string $what, ?string $who = null): void {
        $entry = ['at' => $this->now, 'reference' => $payment['reference'], 'what' => $what];
        $this->order['entries'][] = $entry + ($who === null ? [] : ['who' => $who]);
    }
    // The first state of the table that the order is in says what a click does.
    public function click(array $click): array|string {
        // An order belongs to its first owner, and a guest's to the account in which that visit ends.
        $is_claim = isset($this->order['owner']['guest']) && $click['visit'] === $this->order['owner'];
        $this->order['is_claimed'] = $this->order['is_claimed'] || $is_claim;
        $is_new = $is_claim || $this->order['payments'] === [];
        $this->order['owner'] = $is_new ? $click['owner'] : $this->order['owner'];
        if ($this->order['owner'] !== $click['owner']) { return error(404, 'order_missing'); }

        // What was paid before is not touched by what is sold now.
        $state = state_of_order($this->order);
        if ($state === 'paid') { return $this->answer_page(); }
        $has_ended = $click['purchase'] === 'order_ended';
        $this->order['has_ended'] = $has_ended && $this->order['payments'] !== [];
        if ($has_ended) { return error(409, 'order_ended'); }

        $wrong = wrong_member($click['purchase']['costs']);
        $body = $wrong === null ? $click['purchase']['costs'] : null;
        if ($state === null || $state === 'ended') {
            $costs = $click['purchase']['costs'];
            return $body === null ? $this->refuse_costs($costs, $wrong) : $this->next_payment($click, $body);
        }
        $states = array_map(state(...), $this->order['payments']);
        $payment = &$this->order['payments'][array_key_last(array_intersect($states, [$state]))];
        $is_other_sum = $body !== null && !is_same(sum($body), sum($payment['body']));
        // The sum that the shop named last is kept. A payment that exists keeps its own; the difference is logged once.
        if ($body !== null && !is_same($this->order['asked'], sum($body))) {
            $this->order['asked'] = sum($body);
            $is_other_sum && in_array($state, ['sent', 'open'], true) && $this->alarm('price', $payment['reference']);
        }
        return match (true) {
            $state === 'sent' => $this->click_sent($payment, $click, $body),
            $state !== 'open' => $this->answer_page(),
            $is_other_sum && $this->service['cancels'] => ask($payment, ['cancel' => first_open($payment)['id']]),
            default => $this->ask_for_address($payment),
        };
    }
    // It is sent again with the same body. Once no send can be executed it is left if the body is another one. Where
    // creations are not repeated it is looked for, and left after 15 minutes where it cannot be.
    private function click_sent(array &$payment, array $click, ?array $body): array {
        ['repeats' => $repeats, 'finds' => $finds] = $this->service;
        if ($payment['sends'] === []) { return $this->send_first($payment); }
        $is_lost = !$repeats && $this->cannot_be_asked($payment);
        $is_left = $body !== null && $this->may_be_left($payment, $payment['sends']);
        if ($is_left && ($is_lost || !is_same($body, $payment['body'], []))) {
            $this->close($payment, 'left');
            return $this->next_payment($click, $body);
        }
        return $repeats ? $this->send($payment) : ($finds ? ask($payment, 'find') : error(503, 'unavailable'));
    }
    // Not while a send may be executed, by a wrong clock, or after a restore, when somebody may have its address.
    private function may_be_left(array $payment, array $sends): bool {
        $may_end = !$this->clock_is_wrong && !$this->service['is_restoring'];
        return $may_end && state($payment) === 'sent' && !may_be_executed($sends, $this->now);
    }
    private function cannot_be_asked(array $payment): bool {
        $first = $payment['sends'][0]['at'] ?? $this->now;
        return !$this->service['finds'] && $this->now - $first >= CANNOT_BE_ASKED;
    }
    // The creation is repeated; where it is not, or has brought two payments, the first that may be paid is read.
    private function ask_for_address(array &$payment): array {
        $is_read = count($payment['found']) > 1 || !$this->service['repeats'];
        return $is_read ? ask($payment, ['read' => first_open($payment)['id']]) : $this->send($payment);
    }
    // It has what the order costs now, and the first of the references `name`, `name-1`, `name-2` that no payment has.
    // It is one of its owner's twenty, unless the order was a guest's that became theirs.
    private function next_payment(array $click, array $body): array {
        $name = $this->order['name'];
        if ($name === '' || length($name) > $this->service['longest_reference'] - NUMBER) {
            return $this->refuse_purchase('name');
        }
        if (($this->known['open'] ?? 0) >= MAX_OPEN && !$this->order['is_claimed']) {
            return error(409, 'too_many_open_payments');
        }
        $this->order['asked'] = sum($body);
        $payment = ['reference' => $this->free_reference(), 'created_at' => $this->now, 'body' => $body]
            + array_intersect_key($click, ['nonce' => 0, 'mark' => 0, 'quote' => 0]) + PAYMENT;
        $effect = $this->send_first($payment);
        $this->order['payments'][] = $payment;
        return $effect;
    }
    private function taken(): array {
        return [...array_column($this->order['payments'], 'reference'), ...($this->known['taken'] ?? [])];
    }
    private function free_reference(): string {
        [$name, $number] = [$this->order['name'], 0];
        for ($reference = $name; in_array($reference, $this->taken(), true);) { $reference = $name . '-' . ++$number; }
        return $reference;
    }
    // After a restore a new reference may be that of a payment which these rows have lost: it is looked for first.
    private function send_first(array &$payment): array {
        ['is_restoring' => $is_restoring, 'finds' => $finds] = $this->service;
        return $is_restoring && $finds ? ask($payment, 'find') : $this->send($payment);
    }
    // What was sent before the copy, and is not found, may have been answered since: somebody may have its address.
    public function restored(): null {
        foreach ($this->order['payments'] as &$payment) {
            if (state($payment) === 'sent' && $payment['sends'] !== []) {
                $this->close($payment, 'conflict');
                $this->alarm('different', $payment['reference']);
            }
        }
        return null;
    }
    // Takes a payment that the rows of a restored ledger do not have. What it was sent with is not known: as the last.
    public function adopt(array $adopt): ?array {
        [$reference, $last, $seen] = [$adopt['reference'], end($this->order['payments']), $adopt['seen'] + SEEN];
        $is_free = !in_array($reference, $this->taken(), true) && ($seen['reference'] ?? $reference) === $reference;
        if (!$this->service['is_restoring'] || $last === false || !$is_free) {
            return null;
        }
        $payment = ['reference' => $reference, 'created_at' => $this->now, 'body' => $last['body']]
            + array_intersect_key($adopt, ['nonce' => 0, 'mark' => 0]) + PAYMENT;
        $this->take($payment, $seen, 'find', $adopt['at']);
        $this->order['payments'][] = $payment;
        return null;
    }
    // Each send is stored with the time until which it may be executed, before it is sent.
    private function send(array &$payment): array {
        $until = $this->now + $this->service['call'];
        $payment['sends'][] = ['at' => $this->now, 'until' => $until, 'by_wrong_clock' => $this->clock_is_wrong] + SEND;
        return ['send' => ['reference' => $payment['reference'], 'send' => count($payment['sends']) - 1,
            'may_retry' => $this->service['repeats']]];
    }
    private function refuse_purchase(string $member): array {
        $this->effects[] = error(500, 'internal_error');
        return ['alarm' => ['what' => 'purchase', 'about' => $member]];
    }
    // A customer may have mistyped where they are reached.
    private function refuse_costs(mixed $costs, string $member): array {
        $is_theirs = in_array($member, ['email', 'phone'], true) && is_string($costs[$member] ?? null);
        return $is_theirs ? error(422, 'parameter_invalid') : $this->refuse_purchase($member);
    }
    // The order's state says what a page gets. An open payment leads to `$address`, an id and an address that came just
    // now, or to the one that was stored because no repeat and no reading gives it.
    private function answer_page(?array $payment = null, ?array $address = null): array|string {
        $state = state_of_order($this->order);
        [$of, $paid] = what_paid($this->order);
        $first = $payment === null ? null : first_open($payment);
        $lead = fn($led) => ['answer' => ['lead' =>
            ['reference' => $payment['reference'], 'id' => $first['id'], 'address' => $led]]];
        return match (true) {
            $state === 'paid' => ['answer' => ['paid' => ['reference' => $of['reference'], 'id' => $paid['id']]]],
            $this->order['has_ended'] => error(409, 'order_ended'),
            $state === 'different' => error(409, 'payment_mismatch'),
            $state === 'sent' => error(503, 'unavailable'),
            $first === null => 'click_again', // it has ended, or another payment of the order is open
            $first['id'] === ($address[0] ?? null) => $lead(['plain' => $address[1]]),
            isset($first['sealed']) => $lead(['sealed' => $first['sealed']]),
            default => error(503, 'unavailable'),
        };
    }
    // The results of a send are stored with it. A payment is a reading, too.
    public function reply(array &$payment, array $reply): array|string|null {
        ['send' => $number, 'got' => $got] = $reply;
        if (!isset($payment['sends'][$number])) { return null; }
        $seen = isset($got['payment']) ? $got['payment'] + SEEN : null;
        $payment['sends'][$number]['results'] = [...($reply['earlier'] ?? []), $seen === null ? $got : 'payment'];
        if ($seen === null || !$this->take($payment, $seen, null, $payment['sends'][$number]['at'])) {
            return $this->no_payment($payment, $number, $got);
        }
        [$first, $address] = [first_open($payment), address($seen)];
        $is_read = $first !== null && $first['id'] !== ($address[0] ?? null);
        return $is_read ? ask($payment, ['read' => $first['id']]) : $this->answer_page($payment, $address);
    }
    // One that is open is read. One that is sent is refused if each send was; else it is looked for where it can be;
    // else it is left when a repeat is refused, or 15 minutes after the first send.
    private function no_payment(array &$payment, int $number, array|string $got): array|string {
        [$state, $status, $finds] = [state($payment), $got['status'] ?? null, $this->service['finds']];
        $others = array_diff_key($payment['sends'], [$number => 0]);
        $is_refused_repeat = $others !== [] && in_array($status, REFUSED_REPEATS, true);
        $is_repeat = $others !== [] || count($payment['sends'][$number]['results']) > 1;
        $is_refused = $is_repeat && in_array($status, [409, ...REFUSALS], true);
        $is_lost = $is_refused_repeat || $this->cannot_be_asked($payment);
        $why = match (true) {
            $state !== 'sent' => null,
            was_refused($payment['sends']) => 'refused',
            $finds => null,
            $this->service['is_restoring'] && $status === 409 => 'conflict',
            default => $is_lost && $this->may_be_left($payment, $others) ? 'left' : null,
        };
        $why === null || $this->close($payment, $why);
        $why === 'conflict' && $this->alarm('different', $payment['reference']);
        return match (true) {
            $state === 'open' => ask($payment, ['read' => first_open($payment)['id']]),
            $state !== 'sent', $why === 'conflict', $why === 'left' => $this->answer_page($payment),
            $why === null && $finds => ask($payment, 'find'),
            $status === 429 => error(429, 'rate_limited'),
            // The payment may exist: a refusal of a repeat does not say that the customer's data are wrong.
            $status === null, $why === null && $is_refused => error(503, 'unavailable'),
            default => error(502, 'service_failed'),
        };
    }
    // A payment that comes is taken into the order; a 404 says that the service does not have it. A page gets only an
    // address of what was read just now. A payment that could not be canceled keeps its price.
    public function reading(array &$payment, array $reading): array|string|null {
        ['asked' => $asked, 'at' => $at, 'got' => $got] = $reading;
        $id = is_array($asked) ? current($asked) : null;
        $seen = isset($got['payment']) ? $got['payment'] + SEEN : null;
        $is_missing = ($got['status'] ?? null) === 404 && !isset($asked['cancel']);
        $payment['sought_at'] = $id === null ? $this->later($payment['sought_at'], $at) : $payment['sought_at'];
        foreach (array_keys(array_column($payment['found'], 'id'), $id, true) as $place) {
            $found = &$payment['found'][$place];
            $found['tried_at'] = $this->later($found['tried_at'], $at);
            $found['is_missing'] = $found['is_missing'] || $is_missing;
        }
        $is_taken = $seen !== null && $this->take($payment, $seen, $asked, $at);
        // A send that was executed since the reading was asked for is none that it would have found.
        $is_after = fn($send) => $send['at'] > $at || ($send['until'] > $at && may_be_executed([$send], $this->now));
        if ($is_missing && $id === null && $this->ages($at) && array_filter($payment['sends'], $is_after) === []) {
            $this->may_be_left($payment, $payment['sends']) && $this->close($payment, 'left');
        }
        $may_end = ($is_taken || $is_missing) && $this->ages($at);
        $payment = $may_end ? end_reading($payment, $at) : $payment;
        $address = $is_taken ? address($seen) : null;
        return match (true) {
            !($reading['for_page'] ?? false) => null,
            $is_missing && $payment['sends'] === [] && state($payment) === 'sent' => $this->send($payment),
            state($payment) !== 'open' => $this->answer_page($payment, $address),
            isset($asked['cancel']) && $address === null => $this->ask_for_address($payment),
            default => $is_taken ? $this->answer_page($payment, $address) : error(503, 'unavailable'),
        };
    }
    // Takes the payment of a reply into the order. False if it is not the one that was asked for: as if nothing came.
    private function take(array &$payment, array $seen, array|string|null $asked, int $at): bool {
        $id = is_array($asked) ? current($asked) : $seen['id'];
        if ($id !== $seen['id'] || ($seen['reference'] ?? $payment['reference']) !== $payment['reference']) {
            $this->alarm('another_payment_came', $payment['reference']);
            return false;
        }
        $place = place($payment['found'], 'id', $id) ?? $this->first_seen($payment, $seen, $asked === 'find');
        $found = &$payment['found'][$place];
        if ($at >= $this->later($found['asked_at'], $at) || $seen['status'] === 'succeeded') {
            $this->update($payment, $found, $seen, $at);
        }
        return true;
    }
    // Its age, by the reply's own `Date` less the time since the first send, and its origin after a restore are judged
    // now and never again. A second payment means that the service does not repeat creations.
    private function first_seen(array &$payment, array $seen, bool $is_found): int {
        [$first, $is_restoring] = [$payment['sends'][0] ?? null, $this->service['is_restoring']];
        $is_by_wrong_clock = $this->clock_is_wrong || ($first['by_wrong_clock'] ?? true);
        $is_judged = isset($seen['created_at'], $seen['date']) && !$is_by_wrong_clock;
        $is_too_old = $is_judged && $seen['created_at'] < $seen['date'] - ($this->now - $first['at']) - CLOCKS_DIFFER;
        $is_adopted = $is_restoring && $seen['mark'] === $payment['mark'];
        $is_different = !$is_adopted && (($is_restoring && $is_found) || $is_too_old);
        $payment['found'][] = ['id' => $seen['id'], 'payment_ref' => $seen['payment_ref'], 'status' => $seen['status'],
            'since' => $this->latest_now, 'tried_at' => $this->latest_now, 'state' => $is_different ? 'different' : 'open',
            'sealed' => $seen['address']['sealed'] ?? null] + FOUND;
        $is_different && $this->alarm('different', $payment['reference']);
        $email = $payment['body']['email'] ?? $seen['email'];
        $is_other_email = $seen['email'] !== null && strtolower($email) !== strtolower($seen['email']);
        $is_other_email && $this->alarm('email', $payment['reference']);
        if (count($payment['found']) > 1) {
            $this->effects[] = 'stop_repeating';
            $this->alarm('doubled', $payment['reference']);
        }
        return count($payment['found']) - 1;
    }
    // Stores what the service says of a payment now.
    private function update(array $payment, array &$found, array $seen, int $at): void {
        [$sum, $before] = [sum($payment['body']), $found];
        $is_other = ($seen['amount'] !== null && value($seen['amount']) !== value($sum['amount']))
            || ($seen['currency'] ?? $sum['currency']) !== $sum['currency']
            || ($seen['mark'] ?? $payment['mark']) !== $payment['mark'];
        $duplicates = $before['duplicates'];
        foreach ($seen['duplicates'] as $one) { // a service may name it twice, also in one reply
            if (place($duplicates, 'attempt', $one['attempt']) === null) {
                $duplicates[] = $one;
            }
        }
        [$asked_at, $tried_at] = [$this->later($found['asked_at'], $at), $this->later($found['tried_at'], $at)];
        $found = ['status' => $seen['status'], 'asked_at' => $asked_at, 'tried_at' => $tried_at, 'is_missing' => false,
            'expires_at' => $seen['expires_at'] ?? $found['expires_at'],
            'payable' => $seen['payable'] ?? $found['payable'],
            'method' => $seen['method'] ?? $found['method'], 'approvable_until' => $seen['approvable_until'],
            'duplicates' => $duplicates, 'read_with' => $seen['read_with'] ?? $found['read_with'],
            'sealed' => $found['asked_at'] !== null && $seen['address'] !== null ? null : $found['sealed']] + $found;
        $found['state'] = $this->state_after($payment, $found, $seen, $is_other, $at);
        $is_new_word = $before['status'] !== $seen['status'];
        [$was, $is] = [kind($before), kind($found)];
        $is_unread = $is !== 'paid' && $is_new_word && $seen['status'] === 'succeeded';
        match (true) {
            $was === 'paid' => $is_new_word && $this->enter($payment, $seen['status']),
            $was === 'different' => null,
            $is === 'different' => $this->alarm('different', $payment['reference']),
            $is_unread, $was === 'open' && ended_why($found) === 'timed_out' =>
                $this->alarm('cannot_be_read', $payment['reference']),
            default => null,
        };
    }
    // Nothing takes back what was paid, only *succeeded* changes what has ended, a person decides what is different.
    // A word that is not final ends in a reading after its time, and is canceled first where the service can.
    private function state_after(array $payment, array &$found, array $seen, bool $is_other, int $at): array|string {
        [$kind, $is_whole] = [kind($found), isset($seen['amount'], $seen['currency'])];
        return match (true) {
            $kind === 'paid', $kind === 'different', $is_other && ended_why($found) === 'decided' => $found['state'],
            $is_other => 'different',
            $seen['status'] === 'succeeded' && $is_whole => ['paid' => ['at' => $this->latest_now]],
            $kind === 'ended' => $found['state'],
            in_array($seen['status'], ['failed', 'canceled'], true) => $this->ended('word'),
            $at < ends_at($found), !$this->ages($at) => 'open',
            $this->service['cancels'] && $found['cancel_at'] === null => $this->cancel($payment, $found),
            default => $this->ended('timed_out'),
        };
    }
    private function cancel(array $payment, array &$found): string {
        $found['cancel_at'] = $this->now;
        $this->effects[] = ask($payment, ['cancel' => $found['id']], false);
        return 'open';
    }
    // A person's decision holds for a payment of the service, also one that no reading has shown, and without an id for
    // one that is not known to be there. It is kept with who and why.
    public function resolve(array &$payment, array $resolve): ?array {
        [$verdict, $id] = [$resolve['verdict'], $resolve['id'] ?? null];
        $word = is_array($verdict) ? 'paid' : $verdict;
        $may_lack_id = $word === 'ended' && $payment['found'] === [];
        if ($id === null && !$may_lack_id) { return error(422, 'payment_id_missing'); }
        $is_known = $id === null || place($payment['found'], 'id', $id) !== null;
        if (!$is_known && $word !== 'paid') { return error(404, 'payment_missing'); }
        $is_closed = $id === null || ($payment['closed']['why'] ?? null) === 'conflict';
        $attempt = $resolve['attempt'] ?? null; // none: all that is due of the payment
        if ($word === 'accepted') {
            if ($id !== $this->order['paid_by']) { return error(404, 'payment_missing'); }
            $this->order = ['asked' => array_intersect_key(changed($this->order)['paid_by'], ['amount' => 0, 'currency' => 0]), 'has_ended' => false] + $this->order;
            $this->enter($payment, "accepted: {$resolve['why']}", $resolve['who']);
            return null;
        }
        $is_made = fn($due) => $due['id'] === $id && in_array($attempt, [null, $due['attempt'] ?? null], true);
        $made = $word === 'refunded' ? array_filter(refunds_due($this->order), $is_made) : [];
        foreach ([...$this->order['refunded'], ...$made] as $refund) {
            $refunded[refund_key($refund)] = array_intersect_key($refund, ['id' => 0, 'attempt' => 0]);
        }
        $is_all = $word === 'refunded' && $attempt === null && $id === $this->order['paid_by'];
        if ($is_all && in_array(changed($this->order)['state'], ['paid_other_sum', 'paid_after_end'], true)) {
            $refunded[refund_key(['id' => $id])] = ['id' => $id];
        }
        $refunded ??= [];
        ksort($refunded, SORT_STRING);
        $this->order['refunded'] = array_values($refunded);
        $place = $id === null ? null : place($payment['found'], 'id', $id) ?? count($payment['found']);
        $unseen = ['id' => $id, 'state' => 'open', 'status' => 'decided', 'since' => $this->latest_now];
        $found = $payment['found'][$place ?? -1] ?? $unseen + ['tried_at' => $this->latest_now] + FOUND;
        if (kind($found) !== 'paid') { // nothing takes back what was paid
            $found['state'] = $word === 'paid' ? ['paid' => ['at' => $this->latest_now]] : $this->ended('decided');
            $found['decided'] = $verdict['paid'] ?? $found['decided'];
        }
        $payment['found'] = $place === null ? $payment['found'] : array_replace($payment['found'], [$place => $found]);
        $is_closed && $this->close($payment, 'decided');
        $of = $attempt === null ? '' : ", attempt $attempt";
        $this->enter($payment, "$word$of: {$resolve['why']}", $resolve['who']);
        return null;
    }
    // The first payment that succeeds pays the order. Then, and when the shop has ended the order, everything that can
    // still be paid is canceled where the service can, once. What the shop sees has a version.
    public function finish(array $before, array|string|null $last, ?int $epoch): array {
        $this->effects = $last === null ? $this->effects : [...$this->effects, $last];
        $this->order['paid_by'] ??= what_paid($this->order)[1]['id'] ?? null;
        $is_done = $this->service['cancels'] && ($this->order['has_ended'] || $this->order['paid_by'] !== null);
        foreach (array_keys($is_done ? $this->order['payments'] : []) as $index) {
            $payment = &$this->order['payments'][$index];
            foreach ($payment['found'] as &$found) {
                // A request may be lost. A service that refuses is asked on, while the payment can still be paid.
                $ago = $found['cancel_at'] === null ? -1 : $this->now - $found['cancel_at'];
                kind($found) === 'open' && ($ago < 0 || $ago >= CANCEL_AGAIN) && $this->cancel($payment, $found);
            }
        }
        $this->clock_is_wrong && $this->alarm('clock');
        $changed = changed($this->order);
        $is_reported = $epoch !== null || !is_same($changed, changed($before));
        $is_changed = $epoch !== null || !is_same($this->order, $before);
        $this->order['version'] = max($before['version'] + (int) $is_changed, $epoch ?? 0);
        $changed = ['version' => $this->order['version'], 'restored' => $epoch !== null] + $changed;
        $this->effects = $is_reported ? [...$this->effects, ['order_changed' => $changed]] : $this->effects;
        return ['order' => $this->order, 'effects' => $this->effects];
    }
}
