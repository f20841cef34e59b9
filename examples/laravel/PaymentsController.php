<?php

namespace App\Http\Controllers;

use App\Guichet;
use Illuminate\Cookie\Middleware\{AddQueuedCookiesToResponse, EncryptCookies};
use Illuminate\Http\Request;
use Illuminate\Pipeline\Pipeline;
use Illuminate\Session\Middleware\StartSession;
use Illuminate\Support\Facades\{DB, Log};

// What the shop answers to `guichet shop`: who is signed in, what an order costs. And what it
// stores: what an order has become. Replace its tables by yours.
class PaymentsController
{
    public function __invoke(Request $request)
    {
        $message = Guichet::message($request);
        return match ($message['type'] ?? null) {
            'customer' => $this->customer($request),
            'purchase' => $this->purchase($message['order'], $message['customer']),
            'order_changed' => $this->orderChanged($message),
            default => abort(400, 'This type of message is unknown.'),
        };
    }

    // This message alone has the browser's cookies, and continues its session.
    private function customer(Request $request)
    {
        $session = [EncryptCookies::class, AddQueuedCookiesToResponse::class, StartSession::class];
        return app(Pipeline::class)->send($request)->through($session)->then(function ($request) {
            if (!$user = $request->user()) {
                return $this->refuse(401, 'authentication_required', 'Nobody is signed in.');
            }
            // A user has one name. The service requires two.
            [$firstname, $lastname] = explode(' ', $user->name, 2) + [1 => $user->name];
            return response()->json([
                'id' => (string) $user->id,
                'login' => Guichet::login(),
                'firstname' => $firstname,
                'lastname' => $lastname,
                'email' => $user->email,
                'email_verified' => $user->email_verified_at !== null,
                'phone' => $user->phone,
            ]);
        });
    }

    // The page names a product and its basket. The server sets price, customer and order.
    private function purchase(mixed $wanted, array $customer)
    {
        [$basket, $product] = [data_get($wanted, 'id'), data_get($wanted, 'product')];
        $order = $this->order($customer['id'], $basket, $product);
        if (!$order) {
            return $this->refuse(404, 'order_missing', 'There is no such order.');
        }
        $product = DB::table('products')->find($order->product_id);
        if (!$product) {
            $message = 'The shop no longer sells this.';
            return $this->refuse(409, 'order_ended', $message, ['name' => $order->id]);
        }
        $isForm = str_starts_with($order->basket, 'next:'); // of a customer without script
        return response()->json(['name' => $order->id, 'purchase' => [
            'amount' => $product->amount,
            'currency' => 'XAF',
            'fee_bearer' => 'customer',
            'description' => $customer['language'] === 'fr' ? $product->fr : $product->en,
            'redirect_url' => $isForm
                ? config('services.guichet.merchant') . '/return'
                : config('app.url') . '/',
        ]]);
    }

    // A form has no number of its own: the id `next` means one order of this product, until that
    // is paid. No page can name that order, because of the colon.
    private function order(string $user, mixed $basket, mixed $product): ?object
    {
        $isName = fn ($text) => is_string($text) && preg_match('/^[\w-]{1,64}$/D', $text);
        if (!$isName($basket) || !$isName($product)) {
            return null;
        }
        $own = ['user_id' => $user, 'product_id' => $product];
        if ($basket === 'next') {
            $forms = DB::table('orders')->where($own)->where('basket', 'like', 'next:%');
            $basket = 'next:' . $forms->whereNotNull('paid_by')->count();
        }
        $own['basket'] = $basket;
        if (DB::table('products')->find($product)) {
            $name = 'ORDER-' . bin2hex(random_bytes(8));
            DB::table('orders')->insertOrIgnore($own + ['id' => $name]); // unless it exists
        }
        return DB::table('orders')->where($own)->first();
    }

    // An older event changes nothing. A newer one is stored before the answer. Ship what is stored
    // as `paid`: the process may end before it logs that.
    private function orderChanged(array $event)
    {
        ['name' => $name, 'version' => $version, 'state' => $state, 'refunds_due' => $due] = $event;
        $before = DB::transaction(function () use ($event, $name, $version, $state, $due) {
            $order = DB::table('orders')->where('id', $name);
            $before = $order->clone()->lockForUpdate()->first();
            abort_unless($before, 404, 'There is no such order.'); // so the event comes again
            $after = ['version' => $version, 'state' => $state, 'refunds' => json_encode($due)];
            $after['paid_by'] = $event['paid_by']['reference'] ?? null;
            if (($event['restored'] ?? false) && $state === 'unpaid' && $before->state === 'paid') {
                Log::warning("$name is paid here, and a restored ledger has lost that: look at it.");
                $after = ['version' => $version];
            }
            $order->where('version', '<', $version)->update($after);
            return $before;
        });
        if ($version > $before->version) {
            $this->report($name, $state, $due, $before);
        }
        return response()->noContent();
    }

    private function report(string $name, string $state, array $due, object $before): void
    {
        $odd = ['paid_other_sum' => 'with another sum', 'paid_after_end' => 'after its end'];
        if ($state === 'paid' && $state !== $before->state) {
            Log::info("$name is paid.");
        }
        if (isset($odd[$state]) && $state !== $before->state) {
            Log::warning("$name is paid $odd[$state]: a person decides.");
        }
        $payment = fn ($of) => $of['id'] . (isset($of['attempt']) ? ", attempt $of[attempt]" : '');
        $known = array_map($payment, json_decode($before->refunds, true));
        foreach ($due as $refund) {
            $sum = "$refund[amount] $refund[currency]";
            $sum .= ! empty($refund['plus_fee']) ? ' and the fee' : '';
            if (!in_array($payment($refund), $known, true)) {
                Log::warning("$name: a refund of $sum is due ({$payment($refund)}).");
            }
        }
    }

    private function refuse(int $status, string $code, string $message, array $more = [])
    {
        return response()->json(['code' => $code, 'message' => $message] + $more, $status);
    }
}
