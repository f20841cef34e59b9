"""A shop's server on Django: its page, the three routes that `guichet` in the page calls, and a command for cron that settles
payments. README.md says how to run it. In a project of your own, the settings, models and views go into their files; replace
`CUSTOMERS`, `PRODUCTS` and the demo's sign-in."""
import hashlib, hmac, json, os, re, string, sys, time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import django
from django.conf import settings

SERVICE = os.environ.get("GUICHET_BASE_URL", "http://127.0.0.1:4243")  # the sandbox
SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:8000")  # this server, as browsers name it
KEY = os.environ.get("GUICHET_SECRET_KEY")
if not KEY:
    sys.exit("GUICHET_SECRET_KEY is not set. Set it to the secret key that the sandbox prints (sk_test_…).")
PRODUCTS = {
    "trainers": {"amount": "45000", "en": "Wouri trainers", "fr": "Baskets Wouri"},
    "sandals": {"amount": "12500", "en": "Kribi sandals", "fr": "Sandales Kribi"},
}
CUSTOMERS = {
    "awa@example.com": {"email": "awa@example.com", "firstname": "Awa", "lastname": "Ngono"},
    "paul@example.com": {"email": "paul@example.com", "firstname": "Paul", "lastname": "Biyik"},
}
def mac(secret, text): return hmac.digest(secret, text.encode(), "sha256")
settings.configure(
    SECRET_KEY=mac(KEY.encode(), "django").hex(), ALLOWED_HOSTS=[urlsplit(SHOP).hostname], ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("SHOP_DATABASE", "shop.sqlite")}},
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies", SESSION_COOKIE_SECURE=SHOP.startswith("https:"),
    CSRF_TRUSTED_ORIGINS=[SHOP], CSRF_COOKIE_SECURE=SHOP.startswith("https:"), CSRF_FAILURE_VIEW=f"{__name__}.cross_site",
    DATA_UPLOAD_MAX_MEMORY_SIZE=65_536,
)
django.setup()
from django.core.exceptions import RequestDataTooBig
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import JsonResponse
from django.middleware.csrf import rotate_token
from django.urls import path, re_path
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.static import serve

class Order(models.Model):
    id = models.CharField(primary_key=True)
    customer, basket, product, amount = (models.CharField() for _ in range(4))
    declines = models.IntegerField(default=0)
    paid_by = models.CharField(null=True)
    class Meta: app_label = "shop"
class Payment(models.Model):
    merchant_reference = models.CharField(primary_key=True)
    order = models.ForeignKey(Order, models.PROTECT)
    customer, body, return_nonce = (models.CharField() for _ in range(3))
    intent, payment_ref = (models.CharField(null=True, unique=True) for _ in range(2))
    declines, created_at, read_at, final_since = (models.IntegerField(default=0) for _ in range(4))
    is_over = models.BooleanField(default=False)
    class Meta: app_label = "shop"
class RefundDue(models.Model):
    id = models.CharField(primary_key=True)  # the intent and the attempt
    order = models.ForeignKey(Order, models.PROTECT)
    amount, currency = (models.CharField() for _ in range(2))
    class Meta: app_label = "shop"
class Refused(Exception):
    """An error response in the service's format, which `guichet` in the page reads."""
    def __init__(self, status, code, message):
        error = {"code": code, "errors": [], "request_id": None, "retryable": status in (429, 503)}
        body = {"status_code": status, "response_type": "error", "message": message, "data": None, "error": error}
        self.response = JsonResponse(body, status=status)
def mismatch(what):
    log(f"{what}: the service's reply is about something else. Look at it by hand.")
    return Refused(409, "payment_mismatch", "The payment is not the one of this order. Please ask the shop.")
def cross_site(request, reason=""):
    return Refused(403, "cross_site", f"Only the pages of {SHOP} may call this address. {reason}").response

def create_session(request):
    email = customer_of(request)["email"]
    data = call_service("POST", "/sessions/create", json.dumps({"customer_email": email}))
    if not isinstance(data.get("session_token"), str) or str(data.get("customer_email")).lower() != email.lower():
        raise mismatch("a session")
    return {"session_token": data["session_token"], "expires_at": data.get("expires_at")}

def create_intent(request):
    """The page names a product and its basket. The server sets price, customer and reference, and stores what it will send before
    it sends it. So the same order is the same payment, also if this process is killed here."""
    customer = customer_of(request)
    payment = payment_of(order_of(customer, json_of(request)), customer)
    data = call_service("POST", "/payment-intents", payment.body, {"idempotency-key": payment.merchant_reference})
    verify_and_settle(payment, data)
    if not isinstance(data.get("checkout_url"), str):
        raise mismatch(payment.merchant_reference)
    data["payment_ref"] = data.get("payment_ref") or data["id"]
    Payment.objects.filter(pk=payment.pk).update(intent=data["id"], payment_ref=data["payment_ref"])
    shown = ("id", "checkout_url", "payment_ref", "merchant_reference", "status")
    return {"intent": {name: data[name] for name in shown}, "return_nonce": payment.return_nonce}

def read_status(request, payment_ref):
    payment = Payment.objects.filter(payment_ref=payment_ref, customer=customer_of(request)["email"]).first()
    if not payment:  # or it is another customer's
        raise Refused(404, "resource_missing", "There is no such payment.")
    data = read_and_settle(payment)
    return {"status": data["status"], "last_payment_error": data.get("last_payment_error")}

def settle_due():
    """The service calls no webhook, and a customer who pays and closes the tab sends no further request. So cron runs this every
    few seconds. A payment that is old or final is read less often."""
    now = int(time.time())
    for payment in Payment.objects.filter(is_over=False, read_at__lte=now).exclude(intent=None).order_by("read_at")[:200]:
        pause = 60 if payment.final_since else min(30, (now - payment.created_at) // 60)
        Payment.objects.filter(pk=payment.pk).update(read_at=now + pause)
        try:
            read_and_settle(payment)
        except Exception as error:  # a later run reads the payment again
            isinstance(error, Refused) or log(repr(error))  # a Refused was logged with its cause
def customer_of(request):
    if customer := CUSTOMERS.get(request.session.get("email")):
        return customer
    raise Refused(401, "authentication_required", "Nobody is signed in.")
def order_of(customer, wanted):
    basket, product = str(wanted.get("id")), str(wanted.get("product"))
    if not re.fullmatch(r"[\w-]{1,64}", basket, re.ASCII) or product not in PRODUCTS:
        raise Refused(404, "order_missing", "There is no such order.")
    name = hashlib.sha256(f"{customer['email']} {basket} {product}".encode()).hexdigest()[:16]
    order = {"customer": customer["email"], "basket": basket, "product": product, "amount": PRODUCTS[product]["amount"]}
    return Order.objects.get_or_create(id=name, defaults=order)[0]
def payment_of(order, customer):
    reference = f"ORDER-{order.id}" + (f".{order.declines}" if order.declines else "")  # the next one after a final decline
    return_nonce = nonce(reference)  # the return page matches the return by it
    body = customer | {"merchant_reference": reference, "amount": order.amount, "currency": "XAF", "fee_bearer": "customer"}
    body |= {"description": PRODUCTS[order.product]["en"], "redirect_url": f"{SHOP}/?guichet_return={return_nonce}"}
    sent = {"order": order, "declines": order.declines, "customer": order.customer, "body": json.dumps(body)}
    new = sent | {"return_nonce": return_nonce, "created_at": int(time.time())}
    return Payment.objects.get_or_create(merchant_reference=reference, defaults=new)[0]
def read_and_settle(payment):
    data = call_service("GET", f"/payment-intents/{quote(payment.intent, safe='')}")
    verify_and_settle(payment, data)
    return data
def verify_and_settle(payment, data):
    """Stores what the service says, if it speaks of the payment that was sold: same intent, reference, amount, currency and owner.
    An order becomes paid here and nowhere else, once."""
    sold, reference, owner = json.loads(payment.body), payment.merchant_reference, data.get("customer")
    if not (
        isinstance(data.get("id"), str) and payment.intent in (None, data["id"]) and data.get("merchant_reference") == reference
        and str(data.get("amount")) == sold["amount"] and data.get("currency") == sold["currency"] and isinstance(owner, dict)
        and str(owner.get("email")).lower() == sold["email"].lower() and isinstance(data.get("status"), str)
    ):
        raise mismatch(reference)
    status, unpaid = data["status"], Order.objects.filter(pk=payment.order_id, paid_by=None)
    if status == "succeeded" and unpaid.update(paid_by=reference):
        log(f"{reference} is paid.")  # ship it
    if status in ("failed", "canceled"):  # final: the order's next payment gets the next reference
        unpaid.filter(declines=payment.declines).update(declines=payment.declines + 1)
    # An operator approved an attempt late, after the customer had paid by another attempt or by the order's next payment. The
    # interface has no refund: make it with the payment company.
    is_second = status == "succeeded" and Order.objects.get(pk=payment.order_id).paid_by != reference
    second = [data | {"attempt": "successful"}] if is_second else []
    for duplicate in second + (data.get("duplicate_payments") or []):
        due = {"order_id": payment.order_id, "amount": str(duplicate.get("amount")), "currency": str(duplicate.get("currency"))}
        name = f"{data['id']}, attempt {duplicate.get('attempt')}"
        if RefundDue.objects.get_or_create(id=name, defaults=due)[1]:
            log(f"{reference}: a refund of {due['amount']} {due['currency']} is due ({name}).")
    if status in ("succeeded", "failed", "canceled"):
        # Only a declined attempt can be approved late, and only for a day: read until then, and once more after it.
        nothing_was_declined = isinstance(data.get("attempts"), int) and data["attempts"] <= (status == "succeeded")
        since = payment.final_since or int(time.time())
        is_over = nothing_was_declined or time.time() - since > 24 * 60 * 60
        Payment.objects.filter(pk=payment.pk).update(final_since=since, is_over=is_over)

def call_service(method, path, body=None, headers={}):
    """Calls the service with the key. The log gets the cause of a failure; the page gets an error that it can act on."""
    address, deadline = urlsplit(SERVICE), time.monotonic() + 10
    http = (HTTPSConnection if address.scheme == "https" else HTTPConnection)(address.netloc, timeout=10)
    try:
        headers = {**headers, "authorization": f"Bearer {KEY}", "content-type": "application/json"}
        http.request(method, f"{address.path}/v1{path}", body, headers)
        response, text = http.getresponse(), b""
        while (chunk := response.read1(65_536)) and time.monotonic() < deadline:
            text += chunk
        status, reply = response.status, dict(json.loads(text))
    except (OSError, HTTPException, ValueError, TypeError) as error:
        log(f"{method} {SERVICE}/v1{path}: no answer ({type(error).__name__}). Is the service running?")
        raise Refused(503, "unavailable", "The payment service does not answer. Please try again.")
    if status < 300:
        return reply["data"] if isinstance(reply.get("data"), dict) else {}
    log(f"{method} {SERVICE}/v1{path}: {status} {reply.get('error')}: {reply.get('message')}")
    if status in (429, 503):
        raise Refused(status, "rate_limited" if status == 429 else "unavailable", "The payment service is busy. Please try again.")
    # Also if it refuses the key: a 401 would tell the page that nobody is signed in.
    raise Refused(502, "service_failed", "The payment service refused the shop's request. Please ask the shop.")
def nonce(reference):
    """22 characters of [0-9A-Za-z], the same each time for one reference."""
    number = int.from_bytes(mac(mac(KEY.encode(), "guichet return key"), reference), "big")
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    return "".join(digits[number // 62**place % 62] for place in range(42, 20, -1))
def log(text):  # without the key, and without characters of others' texts that could forge a line or control a terminal
    print(re.sub("[^ -~]", "?", text.replace(KEY, "***"))[:500], file=sys.stderr, flush=True)
def json_of(request):
    try:
        return dict(json.loads(request.body))
    except (ValueError, TypeError, RequestDataTooBig):
        raise Refused(400, "invalid_json", "The request is not a JSON object, or it is too large.")

def route(view, method="POST"):
    """Answers only the shop's own pages, and only JSON, in JSON. Django itself checks the CSRF token of a POST request."""
    def answer(request, **parts):
        site, has_body = request.headers.get("sec-fetch-site", "none"), request.META.get("CONTENT_LENGTH") not in (None, "", "0")
        try:
            if request.headers.get("origin", SHOP) != SHOP or site not in ("none", "same-origin"):
                return cross_site(request)
            if request.method != method:
                raise Refused(405, "method_not_allowed", f"This address takes {method} alone.")
            if has_body and request.content_type != "application/json":
                raise Refused(415, "unsupported_media_type", "Send JSON.")
            body = json.dumps(view(request, **parts))
            reply = json.loads(body.replace(KEY, "***"))  # whatever the service says, the key is in no answer
            return JsonResponse(reply, headers={"cache-control": "no-store"})
        except Refused as refused:
            return refused.response
        except Exception as error:
            log(f"{type(error).__name__}: {error}")
            return Refused(500, "internal_error", "The shop could not do this. Please try again.").response
    return answer

# What the demo's page shows, and its sign-in without a password.
def show_shop(request):
    email = request.session.get("email")
    orders = Order.objects.filter(customer=email or "").values("id", "basket", "product", "paid_by")
    orders = [order | {"refunds": RefundDue.objects.filter(order_id=order["id"]).count()} for order in orders]
    return {"base_url": SERVICE, "customers": list(CUSTOMERS), "customer": email, "products": PRODUCTS, "orders": orders}
def sign_in(request):
    email = str(json_of(request).get("email"))
    if email not in CUSTOMERS:
        raise Refused(422, "customer_unknown", "There is no such customer.")
    request.session["email"] = email
    rotate_token(request)
    return {}
page = {"document_root": Path(__file__).with_name("page")}
urlpatterns = [
    path("guichet/session", route(create_session)), path("guichet/intents", route(create_intent)),
    path("guichet/intents/<str:payment_ref>", route(read_status, "GET")), path("shop", route(show_shop, "GET")),
    path("sign-in", route(sign_in)), path("sign-out", route(lambda request: request.session.flush())),
    path("", ensure_csrf_cookie(serve), page | {"path": "index.html"}),
    re_path(r"^(?P<path>(?:[\w-]+/)*[\w-]+\.(?:js|css|wasm))$", serve, page),
]
with connection.schema_editor() as editor:  # in a project of your own: migrations
    tables = connection.introspection.table_names()
    [editor.create_model(model) for model in (Order, Payment, RefundDue) if model._meta.db_table not in tables]
application = get_wsgi_application()  # gunicorn shop:application
if __name__ == "__main__":
    settle_due() if sys.argv[1:] == ["settle"] else execute_from_command_line(sys.argv)
