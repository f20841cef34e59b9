<?php

namespace App;

use Illuminate\Http\Request;
use Illuminate\Support\Facades\Log;
use Illuminate\Support\Str;

// The messages between `guichet shop` and an application on Laravel, signed by Standard Webhooks
// 1.0. Copy this file as it is. Its settings are those of `guichet` in config/services.php.
class Guichet
{
    // The message in a request: signed by one of the secrets, for this shop, and at most five
    // minutes old.
    public static function message(Request $request): array
    {
        $timestamp = (string) $request->header('webhook-timestamp');
        $age = time() - (int) $timestamp;
        abort_if(abs($age) > 300, 400, 'The message is too old, or the clocks differ.');
        $signed = $request->header('webhook-id') . ".$timestamp." . $request->getContent();
        $isSigned = false;
        foreach (explode(' ', (string) $request->header('webhook-signature')) as $signature) {
            foreach (self::secrets() as $secret) {
                $isSigned = $isSigned || hash_equals(self::sign($secret, $signed), $signature);
            }
        }
        abort_unless($isSigned, 400, 'The message is not signed by the secret.');
        $message = json_decode($request->getContent(), true);
        $isOurs = data_get($message, 'audience') === config('services.guichet.name');
        abort_unless($isOurs, 400, 'The message is for another shop.');
        return $message;
    }

    // What tells a sign-in from all others, as long as it lasts.
    public static function login(): string
    {
        return session()->remember('guichet_login', fn () => Str::random(40));
    }

    // Listens to Illuminate\Auth\Events\Login. It ends the former login of the session.
    public static function beginLogin(): void
    {
        self::endLogin();
        session(['guichet_login' => Str::random(40)]);
    }

    // Listens to Illuminate\Auth\Events\Logout. When the response is sent, and the session is gone,
    // it ends the session tokens of the login's pages.
    public static function endLogin(): void
    {
        if ($login = session()->pull('guichet_login')) {
            app()->terminating(fn () => self::send(['type' => 'login_ended', 'login' => $login]));
        }
    }

    private static function send(array $message): void
    {
        $body = json_encode($message + ['audience' => config('services.guichet.name')]);
        [$id, $timestamp] = ['msg_' . Str::random(32), time()];
        $signature = self::sign(self::secrets()[0], "$id.$timestamp.$body");
        $headers = ['content-type: application/json', "webhook-id: $id"];
        array_push($headers, "webhook-timestamp: $timestamp", "webhook-signature: $signature");
        $options = ['method' => 'POST', 'header' => $headers, 'content' => $body, 'timeout' => 2];
        $context = stream_context_create(['http' => $options]);
        // After a failure the tokens end by themselves, within half an hour.
        $answer = @file_get_contents(config('services.guichet.url') . '/app', false, $context);
        if ($answer === false) {
            Log::warning("guichet shop does not take the message $message[type].");
        }
    }

    private static function sign(string $secret, string $signed): string
    {
        $key = base64_decode(Str::after($secret, 'whsec_'));
        return 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    }

    // One, or two during a rotation: the first one signs.
    private static function secrets(): array
    {
        $text = trim((string) config('services.guichet.secret'));
        $isSecret = preg_match('#^whsec_[\w+/]{32,}=*(\s+whsec_[\w+/]{32,}=*)?$#D', $text);
        abort_unless($isSecret, 500, 'GUICHET_APP_SECRET is no secret whsec_…, or two of them.');
        return preg_split('/\s+/', $text);
    }
}
