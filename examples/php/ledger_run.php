<?php
declare(strict_types=1);
// Carries out what the ledger decides: stores it, asks the service, and decides its reply, until a click has its answer.
namespace Guichet\Ledger;

const MOST_CLICKS = 3; // how often one click is decided anew because a payment of its order has ended in it
const LONG_AFTER = 31 * DAY; // longer than any payment waits for its next reading
const NOT_ASKED = ['status' => null, 'data' => null, 'date' => null, 'retry_after' => null, 'hangs' => false];

final class Ledger {
    private bool $is_test;
    private bool $is_asked = false;
    private ?int $ahead = null; // of the store's clock, the service's, by the `Date` of the last reply

    // `$send` sends requests at the same time, each a method, a path with its query, and a body or null; some have what is sent
    // instead of the key, or null, and what no log may show. It returns for each the `status` (null: no reply), `data` (null: not
    // readable), whether that `is_list`, `date`, `retry_after`, and `hangs`: there was no reply in time. `$changed` gets the whole
    // state of an order, and `$alarm` what a person must know. `$service` says for how long at most a call is executed, and for
    // how many days after their end personal data are kept. `$former_key` is the key that `$key` has replaced: what was stored
    // under it still leads to its payments. `$profile` is what the service does otherwise than the document.
    public function __construct(
        private Store $store,
        #[\SensitiveParameter] private string $key,
        private \Closure $send,
        private \Closure $changed,
        private \Closure $alarm,
        private array $service = ['call' => 40],
        #[\SensitiveParameter] private ?string $former_key = null,
        private array $profile = DOCUMENTED,
    ) {
        $this->service = service_of($profile) + $service;
        $this->is_test = is_test($key);
        $store->open(first_shared(...));
    }

    // Decides a click of an owner, `['customer' => ID]`. Of the order, the shop says its `name`, what it costs or that it has
    // ended, and what the customer was shown that they pay with the fee, if they bear it.
    public function click(array $owner, string $name, array|string $purchase, ?string $quote = null): array {
        $text = "{$this->shared()['created_at']} " . name_of($owner) . " $name";
        $mark = nonce(hash_hmac('sha256', $text, $this->derived('guichet ledger: marks'), true));
        $click = ['owner' => $owner, 'purchase' => $purchase, 'nonce' => nonce(random_bytes(32)), 'mark' => $mark];
        return $this->handle($name, $owner, ['click' => $click + ['quote' => $quote]]);
    }

    // Decides an event, and carries out what follows. Returns the order as it is stored now, what a page gets, and the last
    // reply of the service for it, with what it `got`. After an error of the store the same event may be given once more.
    public function handle(string $name, array $owner, array|string $event): array {
        [$events, $clicks, $has_changed] = [[$event], 0, false];
        $done = ['order' => null, 'answer' => null, 'reply' => null];
        $hangs = false; // a page waits for one call to a service that does not answer, not for two
        while ($events !== []) {
            $decision = $this->apply($name, $owner, array_shift($events));
            foreach ($decision['effects'] ?? [] as $effect) {
                [$kind, $of] = is_array($effect) ? [key($effect), current($effect)] : [$effect, null];
                if ($kind === 'send') {
                    ['payments' => $payments] = $decision['order'];
                    $payment = $payments[place($payments, 'reference', $of['reference'])];
                    $request = ['POST', '/v1/payment-intents', creation($payment)];
                    $asks = [['request' => $request, 'may_list' => false] + $of];
                    [['got' => $got, 'hangs' => $hangs]] = [$done['reply']] = $this->replies($asks);
                    $events[] = ['reply' => ['reference' => $of['reference'], 'send' => $of['send'], 'got' => $got]];
                } elseif ($kind === 'ask') {
                    [[$events[], $reply]] = $this->ask([$of + ['order' => $decision['order']]], $hangs ? $done['reply'] : null);
                    $done['reply'] = $of['for_page'] ? $reply : $done['reply'];
                } elseif ($kind === 'click_again' && isset($event['click']) && $clicks++ < MOST_CLICKS) {
                    $events[] = $event;
                } elseif ($kind === 'answer' || $kind === 'click_again') {
                    $done['answer'] = $of ?? error(503, 'unavailable')['answer'];
                } elseif ($kind === 'order_changed') {
                    $has_changed = true;
                } elseif ($kind === 'alarm') {
                    ($this->alarm)(trim("{$of['what']} {$of['about']}"));
                } elseif ($kind === 'stop_repeating') {
                    $this->share(fn($shared) => ['repeats' => false] + $shared);
                }
            }
            $done['order'] = $decision['order'] ?? $done['order'];
        }
        // It is stored: what the shop cannot receive now, a round brings.
        $has_changed && $this->deliver($name);
        return $done;
    }

    // Decides an event by what is stored, and stores what it changes; from the beginning if another server has changed the
    // order since. Null if there is no such order.
    private function apply(string $name, array $owner, array $event): ?array {
        for (;;) {
            [$shared, $now] = [$this->shared(), $this->now()];
            $loaded = $this->store->load($name, name_of($owner), $now);
            $before = $loaded['order'] === null ? null : filled_order(decoded($loaded['order']));
            if ($before === null && !isset($event['click'])) { return null; }
            // A copy is not served before its restore is declared and read: what was sent since would be sent again.
            $is_unread = isset($shared['copied_at']) || in_array(false, array_column($shared['restores'] ?? [], 'is_read'), true);
            if (isset($event['click']) && $is_unread) {
                return ['order' => $before, 'effects' => [error(503, 'unavailable'), ['alarm' => ['what' => 'copy', 'about' => $name]]]];
            }
            // PHP begins anew with each request. Before age may end or delete anything, or a person ends it, the service is asked for its time.
            $is_missing = ($event['reading']['got']['status'] ?? null) === 404;
            $is_by_age = isset($event['forget']) || isset($event['resolve']);
            $may_end = $before !== null && ($is_missing || $is_by_age || state_of_order($before) === 'sent');
            $may_end && $this->ahead === null && $this->ask_time();
            $service_now = $this->ahead === null ? null : $this->store->now() + $this->ahead;
            $known = ['service' => $this->service($shared), 'service_now' => $service_now];
            $known += ['open' => $loaded['open'], 'taken' => $loaded['taken']];
            $first = ['name' => $name, 'owner' => $owner, 'version' => $shared['epoch']];
            $decision = decide($before ?? $first, $known, $event, $now);
            $commit = commit_of($before, $decision, $known, $now);
            if ($commit === null || $this->store->commit($commit)) { return $decision; }
        }
    }

    // Reads the payment of this owner that a page names: by the first of these names which is its return nonce, the service's id
    // or its public reference. Null if there is none.
    public function read(array $owner, array $names): ?array {
        foreach (preg_grep('/^[!-~]{1,255}$/D', $names) as $named) {
            $orders = array_filter(array_map($this->order(...), $this->store->find($named)));
            foreach (array_filter($orders, fn($order) => $order['owner'] === $owner) as $order) {
                $is_it = fn($one) => in_array($named, [$one[0]['nonce'], $one[1]['id'], $one[1]['payment_ref']], true);
                $all = array_values(array_filter(all_found($order), $is_it));
                // Of two that the service made, the one that another of the names means, or one that has paid.
                $is_meant = fn($one) => array_intersect([$one[1]['id'], $one[1]['payment_ref']], $names) !== [];
                $rank = fn($one) => [!$is_meant($one), kind($one[1]) !== 'paid'];
                usort($all, fn($one, $other) => $rank($one) <=> $rank($other));
                [$payment, $found] = $all[0] ?? [null, null];
                if ($payment !== null) {
                    $this->store->returned($payment['reference'], $this->now());
                    return $this->read_now($order, $payment['reference'], $found['id']);
                }
            }
        }
        return null;
    }
    // The payment and what the service has of it as they are stored afterwards, the reply, and since when its word is final, by
    // the service's clock.
    private function read_now(array $order, string $reference, string $id): array {
        $asked = ['reference' => $reference, 'asked' => ['read' => $id], 'for_page' => false, 'order' => $order];
        [[$event, $reply]] = $this->ask([$asked]);
        $order = $this->handle($order['name'], $order['owner'], $event)['order'] ?? $order;
        $of_it = fn($one) => $one[0]['reference'] === $reference && $one[1]['id'] === $id;
        [$payment, $found] = current(array_filter(all_found($order), $of_it));
        $at = ended_why($found) === 'word' || kind($found) === 'paid' ? current($found['state'])['at'] : null;
        // Of two clocks that contradict each other, it is the later one's.
        $ahead = $this->ahead > CLOCKS_DIFFER ? 0 : $this->ahead;
        $since = $this->is_test || $at === null ? $at : ($ahead === null ? null : $at + $ahead);
        return compact('payment', 'found', 'reply') + ['final_since' => $since, 'now' => $this->now()];
    }

    // Reads what was due when it began, eight payments at a time, and brings the shop what its orders have become. Call it every
    // few seconds, on every server: of several one reads. `is_elsewhere` says that another one does.
    public function settle(): array {
        $round = ['due' => 0, 'read' => 0, 'not_readable' => [], 'is_elsewhere' => false];
        $left = null;
        do {
            $now = $this->now();
            $due = $this->store->due($now, $now + LONG_AFTER);
            $round['due'] += $left === null ? count($due) : 0;
            $left ??= intdiv(count($due) + AT_A_TIME - 1, AT_A_TIME);
            $stored = $this->store->shared();
            $shared = decoded($stored);
            if ($due === [] || is_held($shared['held_until'], $now)) { break; }
            $claimed = encoded(array_replace($shared, ['round_until' => $now + CLAIM]));
            $is_ours = is_free($shared['round_until'], $now) && $this->store->replace_shared($stored, $claimed);
            if (!$is_ours) {
                $round['is_elsewhere'] = true;
                break;
            }
            foreach ($this->read_due(round_of($due, $now), $now) as $name => $of_it) {
                $round[$name] = is_array($of_it) ? [...$round[$name], ...$of_it] : $round[$name] + $of_it;
            }
            // So that the next begins at once. Another server's claim stays.
            $this->share(fn($shared) => ($shared['round_until'] === $now + CLAIM ? ['round_until' => 0] : []) + $shared);
        } while (--$left > 0);
        return $round + ['not_received' => $this->deliver()];
    }
    private function read_due(array $claimed, int $now): array {
        [$asks, $not_readable, $read] = [[], [], 0];
        foreach ($claimed as $one) {
            $this->attempt($one['reference'], $now, function () use ($one, $now, &$asks, &$not_readable) {
                foreach ($this->store->find($one['reference']) as $name) {
                    $order = $this->order($name);
                    $index = place($order['payments'] ?? [], 'reference', $one['reference']);
                    $service = $this->service($this->shared());
                    $payment = $index === null ? null : $order['payments'][$index];
                    $to_read = $payment === null ? [] : to_read($payment, $service, $now);
                    if ($payment !== null && $to_read === []) {
                        $this->store->postpone($one['reference'], due_again($payment, $service, $now));
                        $not_readable[$name] = not_readable($order, $now);
                    }
                    if ($payment !== null && is_to_forget($payment, $service, $now)) {
                        $this->handle($name, $order['owner'], ['forget' => ['reference' => $one['reference']]]);
                    }
                    foreach ($to_read as $asked) {
                        $asks[] = ['reference' => $one['reference'], 'asked' => $asked, 'for_page' => false, 'order' => $order];
                    }
                }
            });
        }
        foreach ($this->ask($asks) as $place => [$event, $reply]) {
            ['order' => $order, 'reference' => $reference] = $asks[$place];
            $this->attempt($reference, $now, function () use ($order, $event, $now, &$not_readable) {
                $after = $this->handle($order['name'], $order['owner'], $event)['order'] ?? $order;
                $not_readable[$order['name']] = not_readable($after, $now);
            });
            $read += (int) isset($event['reading']['got']['payment']);
        }
        return ['read' => $read, 'not_readable' => array_merge(...array_values($not_readable))];
    }
    // A payment that cannot be handled waits for a minute, so that others come before it.
    private function attempt(string $reference, int $now, callable $work): void {
        try {
            $work();
        } catch (\Throwable $e) {
            ($this->alarm)("not_handled $reference: {$e->getMessage()}");
            try {
                $this->store->postpone($reference, $now + 60);
            } catch (\PDOException) {
                // The store cannot be written, which is logged.
            }
        }
    }

    // Brings the shop the events of this order, or of every one, that it has not received. Returns how many it refuses; they
    // come again.
    public function deliver(?string $name = null): int {
        $refused = 0;
        foreach ($this->store->events() as $event) {
            if ($name !== null && $event['name'] !== $name) { continue; }
            try {
                ($this->changed)(decoded($event['body']));
                $this->store->close($event['name'], (int) $event['version']);
            } catch (\Throwable $e) {
                $refused++;
                ($this->alarm)("not_received {$event['name']}: {$e->getMessage()}");
            }
        }
        return $refused;
    }

    // Stores what a person has decided about a payment of this order: `reference`, `id`, `verdict` (`ended`, `refunded` or
    // `['paid' => ['amount' => …, 'currency' => …]]`), `who` and `why`. Returns an error with its status and code, or null.
    public function resolve(string $name, array $resolve): ?array {
        $order = $this->order($name);
        $missing = error(404, 'order_missing')['answer'];
        $answer = $order === null ? $missing : $this->handle($name, $order['owner'], compact('resolve'))['answer'];
        return $answer['error'] ?? null;
    }

    // An order as it is stored; null if there is none of this name.
    public function order(string $name): ?array {
        $text = $this->store->load($name, '', 0)['order'];
        return $text === null ? null : filled_order(decoded($text));
    }

    // With a test key the time is the service's, which tests move.
    private function now(): int {
        $this->is_test && $this->ask_time();
        return $this->store->now() + ($this->is_test ? $this->ahead ?? 0 : 0);
    }
    // Once, by a read that every service has.
    private function ask_time(): void {
        if ($this->is_asked) { return; }
        $this->is_asked = true;
        [$reply] = ($this->send)([['GET', '/v1/payment-methods', null]]);
        $reply['data'] === null || $this->learn($reply['date']);
    }
    private function learn(?int $date): void {
        $this->ahead = $date === null ? $this->ahead : $date - $this->store->now();
    }

    // Asks the service about payments. Returns for each the event and the reply, which is `$known` if that is not null.
    private function ask(array $asks, ?array $known = null): array {
        $now = $this->now();
        $replies = $known === null ? $this->replies(array_map($this->with_request(...), $asks)) : [$known];
        $event = fn($one, $reply) => [['reading' => ['reference' => $one['reference'], 'asked' => $one['asked'],
            'at' => asked_at($one['order'], $one['asked'], $now), 'for_page' => $one['for_page'],
            'got' => $reply['got']]], $reply];
        return array_map($event, $asks, $replies);
    }
    private function with_request(array $ask): array {
        ['asked' => $asked, 'order' => ['payments' => $payments]] = $ask;
        $payment = $payments[place($payments, 'reference', $ask['reference'])];
        $sealed = found_of($payment, $asked)['read_with'];
        $request = request_of($this->profile, $payment, $asked, $sealed === null ? null : $this->opened($sealed));
        return ['request' => $request, 'may_list' => route_of($this->profile, $asked)['may_list'] ?? false] + $ask;
    }
    // What cannot be asked counts as lost.
    private function replies(array $asks): array {
        $requests = array_filter(array_column($asks, 'request'));
        $replies = $requests === [] ? [] : array_combine(array_keys($requests), ($this->send)(array_values($requests)));
        foreach ($asks as $place => ['reference' => $reference, 'may_list' => $may_list]) {
            $reply = with_payment($this->profile, $reference, $may_list, $replies[$place] ?? NOT_ASKED);
            $all[] = ['got' => $this->got($reply)] + $reply;
        }
        return $all ?? [];
    }
    // What a reply brought, after the service's time was noted, and its wish to be left alone. A success without a payment
    // counts as lost: what it brought cannot be read.
    private function got(array $reply): array|string {
        $needs_secret = needs_client_secret($this->profile);
        $seen = $reply['data'] === null ? null : seen($reply['data'], $reply['date'], $this->seal(...), $needs_secret);
        $seen === null || $this->learn($reply['date']);
        if ($reply['status'] === 429) {
            [$now, $until] = [$this->now(), hold_until($reply['retry_after'], $this->now())];
            $held = fn($shared) => is_held($shared['held_until'], $now) ? max($shared['held_until'], $until) : $until;
            $this->share(fn($shared) => ['held_until' => $held($shared)] + $shared);
        }
        $is_status = $reply['status'] !== null && intdiv($reply['status'], 100) !== 2;
        return $seen === null ? ($is_status ? ['status' => $reply['status']] : 'lost') : ['payment' => $seen];
    }

    // What all servers share.
    private function shared(): array { return decoded($this->store->shared()); }
    // What the service can do, by what its replies have shown, and whether a restore is open (`guichet shop restore`).
    private function service(array $shared): array {
        $is_restoring = array_filter($shared['restores'] ?? [], fn($restore) => !isset($restore['closed'])) !== [];
        return ['repeats' => $shared['repeats'], 'is_restoring' => $is_restoring] + $this->service;
    }
    // A refusal means that another server has changed it. What stays undone does no more than delay.
    private function share(callable $change): void {
        for ($attempts = 0; $attempts < 100; $attempts++) {
            $before = $this->store->shared();
            $after = encoded(array_replace(decoded($before), $change(decoded($before))));
            if ($after === $before || $this->store->replace_shared($before, $after)) { return; }
        }
    }

    // An address contains a client secret. The store's readers do not learn it.
    private function seal(#[\SensitiveParameter] string $address): string {
        $nonce = random_bytes(SODIUM_CRYPTO_AEAD_XCHACHA20POLY1305_IETF_NPUBBYTES);
        $key = $this->derived('guichet ledger: addresses');
        return bin2hex($nonce . sodium_crypto_aead_xchacha20poly1305_ietf_encrypt($address, '', $nonce, $key));
    }
    // Null if it was sealed neither with this key nor with the one before.
    public function opened(string $sealed): ?string {
        $length = SODIUM_CRYPTO_AEAD_XCHACHA20POLY1305_IETF_NPUBBYTES;
        $bytes = ctype_xdigit($sealed) && strlen($sealed) % 2 === 0 ? hex2bin($sealed) : '';
        if (strlen($bytes) <= $length) { return null; }
        [$nonce, $encrypted] = [substr($bytes, 0, $length), substr($bytes, $length)];
        foreach (array_filter([$this->key, $this->former_key]) as $of) {
            $key = $this->derived('guichet ledger: addresses', $of);
            $address = sodium_crypto_aead_xchacha20poly1305_ietf_decrypt($encrypted, '', $nonce, $key);
            if ($address !== false) { return $address; }
        }
        return null;
    }
    private function derived(string $purpose, #[\SensitiveParameter] ?string $key = null): string {
        return hash_hmac('sha256', $purpose, $key ?? $this->key, true);
    }
}

// When a reading is asked for that begins now: after those that are stored, also if the clock has gone back by a moment.
function asked_at(array $order, array|string $asked, int $now): int {
    $is_it = fn($one) => in_array($one[1]['id'], (array) $asked, true);
    $stored = max([0, ...array_map(fn($one) => $one[1]['asked_at'] ?? 0, array_filter(all_found($order), $is_it))]);
    return $stored > $now && $stored < $now + CLOCKS_DIFFER ? $stored : $now;
}
// What is stored of a decision; null if it changes nothing.
function commit_of(?array $before, array $decision, array $known, int $now): ?array {
    $order = $decision['order'];
    $is_same = $before === null ? $order['payments'] === [] : $order['version'] === $before['version'];
    if ($is_same) { return null; }
    $changed = current(array_filter(array_column($decision['effects'], 'order_changed'))) ?: null;
    $row = fn($payment) => [
        'reference' => $payment['reference'], 'created_at' => $payment['created_at'],
        'due_at' => due_within($payment, $known['service'], $now), 'counts_until' => counts_until($payment),
        'names' => array_values(array_unique(array_filter([$payment['reference'], $payment['nonce'],
            ...array_column($payment['found'], 'id'), ...array_column($payment['found'], 'payment_ref')]))),
    ];
    return [
        'name' => $order['name'], 'version' => $order['version'], 'body' => encoded($order), 'owner' => name_of($order['owner']),
        'before' => $before['version'] ?? null, 'now' => $now, 'rows' => array_map($row, $order['payments']),
        'open' => count($order['payments']) > count($before['payments'] ?? []) ? $known['open'] : null,
        'event' => $changed === null ? null : ['version' => $changed['version'], 'body' => encoded($changed)],
    ];
}
// When it is due, if not further ahead than the time by which a wrong clock shows.
function due_within(array $payment, array $service, int $now): ?int {
    $due = due($payment, $service, $now);
    return $due === null ? null : min($due, $now + LONGEST_WAIT);
}
// A payment in a reply; null if it is none, or if its amount cannot be read. Its client secret is kept where it is read with it.
function seen(array $data, ?int $date, callable $seal, bool $needs_secret = false): ?array {
    $name = fn($value) => is_string($value) && $value !== '' ? $value : null;
    $number = fn($value) => is_int($value) ? $value : (is_string($value) && ctype_digit($value) ? (int) $value : null);
    [$id, $status, $amount] = [$name($data['id'] ?? null), $name($data['status'] ?? null), amount($data['amount'] ?? null)];
    if ($id === null || $status === null || $amount === null) { return null; }
    $duplicates = [];
    foreach (is_array($data['duplicate_payments'] ?? null) ? array_values($data['duplicate_payments']) : [] as $place => $one) {
        // If the service gives no number, the place in its list, which only grows, stands for it.
        $attempt = $number($one['attempt'] ?? null) ?? 0;
        $attempt = $attempt > 0 && $attempt <= 0xffffffff ? $attempt : 0xffffffff - $place;
        $duplicates[] = ['attempt' => "$attempt", 'amount' => amount($one['amount'] ?? null)];
    }
    $expires = $name($data['expires_at'] ?? null) ?? '';
    $expires .= preg_match('/(Z|[+-]\d\d:?\d\d)$/Di', $expires) ? '' : 'Z'; // without an offset it is in UTC
    [$address, $reference] = [$name($data['checkout_url'] ?? null), $data['merchant_reference'] ?? null]; // an empty one is another
    $secret = $needs_secret ? $name($data['client_secret'] ?? null) : null;
    return [
        'id' => $id, 'payment_ref' => $name($data['payment_ref'] ?? null), 'status' => $status, 'amount' => $amount,
        'reference' => is_string($reference) ? $reference : null, 'currency' => $name($data['currency'] ?? null),
        'created_at' => $number($data['created_at'] ?? null), 'date' => $date,
        'expires_at' => preg_match('/^\d{4}-\d\d-\d\dT/', $expires) ? (strtotime($expires) ?: null) : null,
        'mark' => $name($data['metadata']['guichet_mark'] ?? null), 'email' => $name($data['customer']['email'] ?? null),
        'payable' => amount($data['amount_payable'] ?? null),
        'method' => $name($data['payment_method']['type'] ?? null), 'duplicates' => $duplicates,
        'approvable_until' => $number($data['approvable_until'] ?? null),
        'address' => $address === null ? null : ['plain' => $address, 'sealed' => $seal($address)],
        'read_with' => $secret === null ? null : $seal($secret),
    ];
}
// An amount as a text; null: it is none. A number is the text that JSON has for it.
function amount(mixed $amount): ?string {
    $text = is_int($amount) || is_float($amount) ? json_encode($amount) : $amount;
    return is_string($text) && preg_match('/^\d{1,15}(\.\d{0,18})?$/D', $text) ? value($text) : null;
}
// What all servers of a ledger share that begins at this time.
function first_shared(int $now): string {
    return encoded(['created_at' => $now, 'epoch' => $now * 1_000_000, 'round_until' => 0, 'held_until' => 0, 'repeats' => true]);
}
// An owner as a text: `customer:17`.
function name_of(array $owner): string { return key($owner) . ':' . current($owner); }
// 22 digits and letters, of 32 bytes.
function nonce(string $bytes): string {
    $alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    [$limbs, $text] = [array_values(unpack('N*', $bytes)), ''];
    for ($digit = 0; $digit < 43; $digit++) {
        $rest = 0;
        foreach ($limbs as &$limb) {
            $dividend = ($rest << 32) | $limb;
            [$limb, $rest] = [intdiv($dividend, 62), $dividend % 62];
        }
        $text = $alphabet[$rest] . $text;
    }
    return substr($text, 0, 22);
}
function encoded(array $value): string {
    return json_encode($value, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR);
}
function decoded(string $text): array {
    return json_decode($text, true, 512, JSON_THROW_ON_ERROR);
}
