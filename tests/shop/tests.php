<?php
declare(strict_types=1);
// What the tests of the ledger in PHP share, and the ledger itself.
namespace Guichet\Ledger;

foreach (['ledger', 'ledger_profile', 'ledger_store', 'ledger_run'] as $part) {
    require __DIR__ . "/../../examples/php/$part.php";
}

function same(mixed $is, mixed $should, string $about = ''): void {
    if ($is !== $should) { throw new \Exception("$about: is " . json_encode($is) . ', should be ' . json_encode($should)); }
}
// Runs each test, by its name, and prints those that fail. Returns how many do.
function failures(array $tests): int {
    $failed = 0;
    foreach ($tests as $name => $test) {
        try {
            $test();
        } catch (\Throwable $e) {
            $failed++;
            echo "$name: $e\n";
        }
    }
    return $failed;
}
