<?php

use App\Guichet;
use App\Http\Controllers\PaymentsController;
use Illuminate\Auth\Events\{Login, Logout};
use Illuminate\Config\Repository;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Cookie\Middleware\{AddQueuedCookiesToResponse, EncryptCookies};
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap\{BootProviders, HandleExceptions};
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Kernel;
use Illuminate\Foundation\Http\Middleware\VerifyCsrfToken;
use Illuminate\Hashing\HashServiceProvider;
use Illuminate\Http\Request;
use Illuminate\Session\Middleware\StartSession;
use Illuminate\Support\Facades\{Auth, DB, Event, Facade, Route};

// A shop on Laravel beside `guichet shop`, which takes its payments. An application of your own
// needs the two other files, and the lines that README.md names. This file is the rest of the
// demo: a small application with Laravel's router, sessions and CSRF check, and the shop's page.

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (preg_match('#^/([\w-]+/)*[\w-]+\.(js|css|wasm)$#D', $path)) {
    return false; // `php -S … -t page` serves this file
}
umask(0077); // no other user reads what is written
$vendor = __DIR__ . '/vendor/autoload.php'; // Composer's
require is_file($vendor) ? $vendor : 'Illuminate/autoload.php'; // Debian's
require __DIR__ . '/Guichet.php';
require __DIR__ . '/PaymentsController.php';

$url = rtrim(getenv('SHOP_URL') ?: 'http://127.0.0.1:8000', '/'); // as browsers name it
$guichet = getenv('GUICHET_SHOP') ?: 'http://127.0.0.1:4244';
$database = getenv('SHOP_DATABASE') ?: __DIR__ . '/shop.sqlite';
$key = __DIR__ . '/app-key'; // of Laravel's cookies
is_file($key) || file_put_contents($key, random_bytes(32));
is_file($database) || touch($database);

$sqlite = ['driver' => 'sqlite', 'database' => $database, 'prefix' => ''];
$app = new Application(__DIR__);
$app->detectEnvironment(fn () => 'production');
$app->instance('config', new Repository([
    'app' => ['key' => file_get_contents($key), 'cipher' => 'AES-256-CBC', 'url' => $url],
    'auth' => [
        'defaults' => ['guard' => 'web'],
        'guards' => ['web' => ['driver' => 'session', 'provider' => 'users']],
        'providers' => ['users' => ['driver' => 'database', 'table' => 'users']],
    ],
    'database' => ['default' => 'sqlite', 'connections' => ['sqlite' => $sqlite]],
    'logging' => ['default' => 'errorlog', 'channels' => ['errorlog' => ['driver' => 'errorlog']]],
    'session' => [
        'driver' => 'database', 'connection' => null, 'table' => 'sessions', 'lottery' => [2, 100],
        'lifetime' => 120, 'expire_on_close' => false, 'encrypt' => false,
        'cookie' => 'laravel_session', 'path' => '/', 'domain' => null, 'http_only' => true,
        'secure' => str_starts_with($url, 'https:'), 'same_site' => 'lax',
    ],
    'view' => ['paths' => [], 'compiled' => sys_get_temp_dir()],
    'services' => ['guichet' => [
        'name' => 'shoes', // as in shop.toml
        'url' => $guichet,
        'merchant' => getenv('GUICHET_MERCHANT') ?: "$guichet/guichet", // as browsers name it
        'secret' => getenv('GUICHET_APP_SECRET') ?: @file_get_contents(__DIR__ . '/app-secret'),
    ]],
]));
$app->singleton(ExceptionHandler::class, fn () => new class($app) extends Handler {
    protected function shouldReturnJson($request, Throwable $error)
    {
        return true;
    }
});
foreach (['Auth', 'Cookie', 'Database', 'Encryption', 'Filesystem', 'Session', 'View'] as $part) {
    $app->register("Illuminate\\$part\\{$part}ServiceProvider");
}
$app->register(HashServiceProvider::class);
Facade::setFacadeApplication($app);
$app->bootstrapWith([HandleExceptions::class, BootProviders::class]);
$kernel = $app->make(Kernel::class);

DB::unprepared("
    CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, user_id TEXT, ip_address TEXT,
        user_agent TEXT, payload TEXT, last_activity INTEGER);
    CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, name TEXT, email TEXT,
        email_verified_at TEXT, phone TEXT, password TEXT, remember_token TEXT);
    CREATE TABLE IF NOT EXISTS products (id TEXT PRIMARY KEY, amount TEXT, en TEXT, fr TEXT);
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, user_id TEXT, basket TEXT,
        product_id TEXT, version INTEGER NOT NULL DEFAULT 0, state TEXT, paid_by TEXT,
        refunds TEXT NOT NULL DEFAULT '[]', UNIQUE (user_id, basket, product_id));
    INSERT OR IGNORE INTO users (id, name, email, email_verified_at, phone) VALUES
        ('awa', 'Awa Ngono', 'awa@example.com', '2026-01-01', NULL),
        ('fatou', 'Fatou Sali', NULL, NULL, '237670000000'),
        ('paul', 'Paul Biyik', 'paul@example.com', '2026-01-01', NULL);
    INSERT INTO products SELECT * FROM (VALUES
        ('trainers', '45000', 'Wouri trainers', 'Baskets Wouri'),
        ('sandals', '12500', 'Kribi sandals', 'Sandales Kribi'))
        WHERE NOT EXISTS (SELECT * FROM products)
");
$web = [EncryptCookies::class, AddQueuedCookiesToResponse::class, StartSession::class];
Route::middlewareGroup('web', [...$web, VerifyCsrfToken::class]);

// The lines of README.md.
Event::listen(Login::class, [Guichet::class, 'beginLogin']);
Event::listen(Logout::class, [Guichet::class, 'endLogin']);
Route::post('/payments', PaymentsController::class)->withoutMiddleware('web');

$done = fn (Request $request) => $request->isJson() // the page's script, or its form
    ? response()->noContent()
    : redirect(config('app.url') . '/', 303);
Route::middleware('web')->group(function () use ($done) {
    Route::get('/', function () {
        $field = '<input type="hidden" name="_token" value="' . csrf_token() . '">';
        return strtr(file_get_contents(__DIR__ . '/page/index.html'), [
            'action="/sign-in">' => 'action="/sign-in">' . $field,
            'action="/guichet/' => 'action="' . config('services.guichet.merchant') . '/',
        ]);
    });
    Route::get('/shop', function () {
        $orders = DB::table('orders')->where('user_id', Auth::id())->orderBy('rowid');
        return [
            'base_url' => getenv('GUICHET_PUBLIC_URL') ?: 'http://127.0.0.1:4243',
            'merchant' => config('services.guichet.merchant'),
            'customer' => Auth::id(),
            'customers' => DB::table('users')->orderBy('id')->pluck('id'),
            'products' => DB::table('products')->get(),
            'orders' => $orders->selectRaw('*, json_array_length(refunds) AS refunds')->get(),
        ];
    });
    // The demo signs anybody in, without a password.
    Route::post('/sign-in', function (Request $request) use ($done) {
        $customer = $request->input('customer');
        $isKnown = is_string($customer) && DB::table('users')->find($customer);
        abort_unless($isKnown, 422, 'There is no such customer.');
        Auth::loginUsingId($customer);
        $request->session()->regenerateToken();
        return $done($request);
    });
    Route::post('/sign-out', function (Request $request) use ($done) {
        Auth::logout();
        $request->session()->invalidate();
        $request->session()->regenerateToken();
        return $done($request);
    });
});

$response = $kernel->handle($request = Request::capture())->send();
$kernel->terminate($request, $response);
