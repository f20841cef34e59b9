"""A shop's server on Django, with a command for cron. README.md says how to run it, docs/shop.md
why it does what it does. Replace the demo's customers, products and sign-in by your own."""

import fcntl, json, os, re, secrets, sys, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote, urlsplit
import django
from django.conf import settings


def secret_key():
    """What is copied with a key, such as a line end, would make every purchase fail."""
    key = os.environ.get("GUICHET_SECRET_KEY", "")
    if re.fullmatch("(?!cst_|pi_|pk_|.*[\"'`])[!-~]+", key):
        return key
    what = "the key of the sandbox (sk_test_…), without spaces, line ends or quotes"
    sys.exit(f"GUICHET_SECRET_KEY must be {what}.")


def service():
    """Its address, without the slash or `/v1` at its end that each call adds. The key is sent
    unencrypted to this machine alone; a test key also to the hosts of GUICHET_PLAIN_HOSTS."""
    text = os.environ.get("GUICHET_BASE_URL") or "http://127.0.0.1:4243"  # the sandbox
    is_test = re.match("[sr]k_test_|FLWSECK_TEST", KEY)
    named = os.environ.get("GUICHET_PLAIN_HOSTS", "-") if is_test else "-"
    named = "|".join(re.escape(host) for host in named.split(","))
    plain = rf"http://(([\w.-]+\.)?localhost|127(\.\d+){{3}}|\[::1\]|{named})"
    if re.fullmatch(rf"(https://[\w.-]+|{plain})(:\d+)?(/[\w.~/-]*)?", text, re.A):
        return re.sub("/*(/v1)?/*$", "", text)
    what = "https://api.example.com (http:// is for this machine, or see GUICHET_PLAIN_HOSTS)"
    sys.exit(f"GUICHET_BASE_URL must be an address: {what}.")


def origin_of(name):
    """An origin as browsers write it, since `Origin` is compared with it."""
    text = os.environ.get(name, "").rstrip("/").lower()
    local = r"([\w-]+\.)*localhost|([\w-]+\.)+test|127(\.\d+){3}|\[::1\]"
    form = rf"(https://[\w.-]+|http://({local}))(:\d+)?|"
    if not re.fullmatch(form, text, re.A):
        sys.exit(f"{name} must be an origin, https://shop.example (http:// is for .test and here)")
    return re.sub(r"^(https.*):443$|^(http:.*):80$", r"\1\2", text)


KEY = secret_key()
SERVICE = service()
PUBLIC_URL = os.environ.get("GUICHET_PUBLIC_URL") or SERVICE  # the same, as browsers name it
SHOP = origin_of("SHOP_URL") or "http://127.0.0.1:8000"  # this server, as browsers name it
PAGE = origin_of("SHOP_ORIGIN") or SHOP  # the page's origin, if it is not this server's
DATABASE = os.environ.get("SHOP_DATABASE", "shop.sqlite")
FILES = Path(__file__).with_name("page")
FORM = "application/x-www-form-urlencoded"


def django_key():
    """Django's own key, made at the first start: the payment key signs nothing of the logins."""
    file = Path(DATABASE).with_name("secret_key")
    if not file.exists():  # if another process is first, its key stays
        with NamedTemporaryFile(dir=file.parent, buffering=0) as new, suppress(FileExistsError):
            new.write(secrets.token_urlsafe(50).encode())
            os.link(new.name, file)  # its owner alone may read it
    return file.read_text()


SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": DATABASE}
settings.configure(
    SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY") or django_key(),
    ALLOWED_HOSTS=[urlsplit(SHOP).hostname],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.sessions"],  # a login is a row: signing out deletes it
    MIGRATION_MODULES={"sessions": None},  # its table is created below
    MIDDLEWARE=[
        f"{__name__}.for_the_page",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    DATABASES={"default": SQLITE | {"OPTIONS": {"transaction_mode": "IMMEDIATE"}}},
    SESSION_COOKIE_SECURE=SHOP.startswith("https:"),
    CSRF_COOKIE_SECURE=SHOP.startswith("https:"),
    CSRF_TRUSTED_ORIGINS=[SHOP, PAGE],
    CSRF_FAILURE_VIEW=f"{__name__}.no_csrf_token",
    DATA_UPLOAD_MAX_MEMORY_SIZE=65_536,
)
django.setup()
from django.contrib.sessions.models import Session
from django.core.exceptions import SuspiciousOperation
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.db import OperationalError, connection, models, transaction
from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token, rotate_token
from django.urls import path, re_path
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.views.decorators.http import require_http_methods
from django.views.static import serve


class Row(models.Model):
    class Meta:
        abstract = True
        app_label = "shop"


class Customer(Row):
    id = models.CharField(primary_key=True)
    firstname, lastname, verified_email, phone = (models.CharField(null=True) for _ in range(4))

    def order(self, wanted):
        basket, product = wanted.get("id"), wanted.get("product")
        is_name = isinstance(basket, str) and re.fullmatch(r"[\w-]{1,64}", basket, re.A)
        if not is_name or not isinstance(product, str):
            raise missing()
        if basket == "next":  # a form means one order, until that is paid; no name has a colon
            own = self.order_set.filter(product_id=product, basket__startswith="next:")
            basket = f"next:{own.exclude(paid_by=None).count()}"
        named = {"customer": self, "basket": basket, "product_id": product}
        if Product.objects.filter(pk=product):
            return Order.objects.get_or_create(**named, defaults={"id": secrets.token_hex(8)})[0]
        if order := Order.objects.filter(**named).first():
            return order
        raise missing()


class Product(Row):
    id = models.CharField(primary_key=True)
    amount, en, fr = models.CharField(), models.CharField(), models.CharField()


class Order(Row):
    id = models.CharField(primary_key=True)
    customer = models.ForeignKey(Customer, models.PROTECT)
    basket, product_id = models.CharField(), models.CharField()
    declines, paid_by = models.IntegerField(default=0), models.CharField(null=True)

    class Meta(Row.Meta):
        unique_together = [("customer", "basket", "product_id")]

    @transaction.atomic
    def payment(self, language):
        """The payment of the current reference, the next one after a final decline or a day without
        the service. What was stored is sent again, at its price. A new reference takes today's."""
        buyer = Customer.objects.select_for_update().get(pk=self.customer_id)  # one at a time
        self.refresh_from_db()
        unsent = {"intent": None, "final_since": None, "created_at__lt": time.time() - 24 * 60 * 60}
        number = self.declines + self.payment_set.filter(**unsent).count()
        # A paid order repeats what paid it, which may be a payment that was shown as failed before.
        reference = self.paid_by or f"ORDER-{self.id}" + (f".{number}" if number else "")
        if payment := Payment.objects.filter(pk=reference).first():
            if (payment.order_id, payment.customer_id) != (self.id, self.customer_id):
                raise missing()  # another's is answered like an unknown one
            return payment
        if not (product := Product.objects.filter(pk=self.product_id).first()):
            raise Refused(409, "order_ended", "The shop no longer sells this.")
        # A payment that the service did not get is not open for long.
        is_sent = models.Q(intent__isnull=False) | models.Q(created_at__gt=time.time() - 60)
        if buyer.payment_set.filter(is_sent, final_since=None).count() >= 20:
            message = "You have 20 unpaid payments. Pay or cancel one of them first."
            raise Refused(409, "too_many_open_payments", message)
        nonce = secrets.token_hex(11)  # the return page matches the return by it
        body = {"merchant_reference": reference, "amount": product.amount, "currency": "XAF"}
        body |= {"email": buyer.verified_email} if buyer.verified_email else {"phone": buyer.phone}
        body |= {"firstname": buyer.firstname, "lastname": buyer.lastname, "fee_bearer": "customer"}
        body |= {"description": product.fr if language.startswith("fr") else product.en}
        back = f"{SHOP}/guichet/return" if self.basket.startswith("next:") else f"{PAGE}/"
        body |= {"redirect_url": f"{back}?guichet_return={nonce}"}
        new = {"order": self, "declines": self.declines, "customer": buyer}
        new |= {"body": json.dumps(body), "return_nonce": nonce, "created_at": time.time()}
        return Payment.objects.create(merchant_reference=reference, **new)


class Payment(Row):
    merchant_reference = models.CharField(primary_key=True)
    order = models.ForeignKey(Order, models.PROTECT)
    customer = models.ForeignKey(Customer, models.PROTECT)
    body, return_nonce = models.CharField(), models.CharField()
    intent, payment_ref = (models.CharField(null=True, unique=True) for _ in range(2))
    declines, created_at, read_at = (models.IntegerField(default=0) for _ in range(3))
    returned_at, final_since = (models.IntegerField(null=True) for _ in range(2))
    is_over = models.BooleanField(default=False)

    def read(self):
        return call_service("GET", f"/payment-intents/{quote(self.intent, safe='')}")

    def settle(self, data):
        """Stores what the service says, if it speaks of the payment that was sold: same intent,
        reference, amount, currency and e-mail. An order becomes paid here alone, and once."""
        reference, sold = self.merchant_reference, json.loads(self.body)
        names = ("merchant_reference", "amount", "currency")
        said = data | {"amount": amount_of(data.get("amount"))}
        is_the_one_sold = all(str(said.get(name)) == sold[name] for name in names)
        email = str((data.get("customer") or {}).get("email"))
        is_theirs = email.lower() == sold.get("email", email).lower()
        is_intent = isinstance(data.get("id"), str) and self.intent in (None, data["id"])
        if not (is_the_one_sold and is_theirs and is_intent and "status" in data):
            raise mismatch(reference)
        status, unpaid = data["status"], Order.objects.filter(pk=self.order_id, paid_by=None)
        if status == "succeeded" and unpaid.update(paid_by=reference):
            log(f"{reference} is paid.")  # ship it
        if status in ("failed", "canceled"):  # final: the next payment gets the next reference
            unpaid.filter(declines=self.declines).update(declines=self.declines + 1)
        # An operator approved an attempt late, and the customer had paid otherwise: make the refund
        # with the payment company. If there is no number, the place in the list stands for it.
        duplicates = enumerate(data.get("duplicate_payments") or [])
        refunds = [(one.get("attempt") or 0xFFFFFFFF - place, one) for place, one in duplicates]
        if status == "succeeded" and Order.objects.get(pk=self.order_id).paid_by != reference:
            paid = data.get("amount_payable") or data["amount"]  # with the fee
            refunds.append(("successful", data | {"amount": paid}))
        for attempt, one in refunds:
            amount, currency = str(one.get("amount")), str(one.get("currency"))
            due = {"order_id": self.order_id, "amount": amount, "currency": currency}
            name = f"{data['id']}, attempt {attempt}"
            if RefundDue.objects.get_or_create(id=name, defaults=due)[1]:
                log(f"{reference}: a refund of {amount} {currency} is due ({name}).")
        if status in ("succeeded", "failed", "canceled"):
            # Only a declined attempt can be approved late, for a day: read it once more after that.
            attempts = data.get("attempts")
            since = self.final_since or data.get("as_of") or int(time.time())
            none_declined = isinstance(attempts, int) and attempts <= (status == "succeeded")
            is_over = none_declined or time.time() - since > 24 * 60 * 60
            Payment.objects.filter(pk=reference).update(final_since=since, is_over=is_over)


class RefundDue(Row):
    id = models.CharField(primary_key=True)  # the intent and the attempt
    order = models.ForeignKey(Order, models.PROTECT)
    amount, currency = models.CharField(), models.CharField()


class SessionToken(Row):
    login, token = models.CharField(), models.CharField()  # the session's key, as in its own table
    made_at = models.IntegerField()


class Refused(Exception):  # an error response in the service's format, which the page reads
    def __init__(self, status, code, message):
        error = {"code": code, "errors": [], "request_id": None, "retryable": status in (429, 503)}
        body = {"status_code": status, "response_type": "error", "message": message}
        self.answer = status, body | {"data": None, "error": error}


def missing():
    return Refused(404, "order_missing", "There is no such order.")


def amount_of(amount):
    """An amount is compared by its value, and 45000.00 is 45000. A float would round another."""
    return re.sub(r"\A0*(\d+?)(\.0*)?\Z", r"\1", str(amount), flags=re.A)


def mismatch(what):
    log(f"{what}: the service's reply is about something else. Look at it by hand.")
    return Refused(409, "payment_mismatch", "The payment is not the one of this order.")


def create_session(request):
    email = request.customer.verified_email
    if not email:
        raise Refused(403, "email_not_verified", "The customer has no verified e-mail.")
    data = call_service("POST", "/sessions/create", json.dumps({"customer_email": email}))
    is_theirs = str(data.get("customer_email")).lower() == email.lower()
    if not is_theirs or not isinstance(data.get("session_token"), str):
        raise mismatch("a session")
    keep_token(request.session, data["session_token"])
    return {"session_token": data["session_token"], "expires_at": data.get("expires_at")}


def keep_token(session, token):
    """Keeps a token with its login for the half hour that it lives, so that signing out ends it. If
    the customer has signed out meanwhile, no page gets it."""
    now, login = int(time.time()), session.session_key
    SessionToken.objects.filter(made_at__lt=now - 1_800).delete()
    SessionToken(login=login, token=token, made_at=now).save()
    if not session.exists(login):
        end_tokens(login)
        raise Refused(401, "authentication_required", "Nobody is signed in.")


def end_tokens(login):
    tokens = SessionToken.objects.filter(login=login)
    for token in tokens.values_list("token", flat=True):
        try:
            call_service("POST", "/sessions/revoke", token=token)
        except Refused:
            pass  # its cause was logged; the token expires by itself
    tokens.delete()


def create_intent(request):
    """The page names a product and its basket. The server sets price, customer and reference, and
    stores what it will send: the same order is the same payment, also if this process is killed."""
    language = request.headers.get("accept-language", "").lower()
    payment = request.customer.order(request.wanted).payment(language)
    reference = payment.merchant_reference
    data = call_service("POST", "/payment-intents", payment.body, {"idempotency-key": reference})
    payment.settle(data)
    if not isinstance(data.get("checkout_url"), str):
        raise mismatch(reference)
    # A form is sent on by this server, and only to the service.
    service = "{0.scheme}://{0.netloc}/".format(urlsplit(PUBLIC_URL))
    if request.is_form and not data["checkout_url"].startswith(service):
        raise mismatch(reference)
    data["payment_ref"] = data.get("payment_ref") or data["id"]
    Payment.objects.filter(pk=reference).update(intent=data["id"], payment_ref=data["payment_ref"])
    shown = ("id", "checkout_url", "payment_ref", "merchant_reference", "status")
    return {"intent": {name: data[name] for name in shown}, "return_nonce": payment.return_nonce}


def read_status(request, payment_ref):
    found = Payment.objects.filter(payment_ref=payment_ref, customer=request.customer)
    if not found.update(returned_at=time.time()):  # or it is another customer's
        raise Refused(404, "resource_missing", "There is no such payment.")
    payment = found.get()
    payment.settle(data := payment.read())
    data["late"] = late_approval(data, data["as_of"], payment.final_since or data["as_of"])
    shown = "status last_payment_error approvable_until merchant_reference amount amount_payable"
    return {name: data[name] for name in (shown + " as_of late").split() if name in data}


def late_approval(data, as_of, final_since):
    """Whether a declined attempt of a payment may still become money. `as_of` is the `Date` of the
    service's reply, since this server's clock may be wrong. What is not known is open, whatever the
    code: a service may say no more than `failed`, and succeed later."""
    never, open = {"state": "never"}, {"state": "open"}
    status, error, attempts = (data.get(n) for n in ("status", "last_payment_error", "attempts"))
    word_of = lambda of: of.get("approvable_until", "none") if isinstance(of, dict) else "none"
    is_under_way = status in ("processing", "succeeded")
    least = error is not None or status == "failed" or isinstance(word_of(data), int)
    unknown = status not in ("processing", "succeeded", "requires_action")
    declined = max(attempts - is_under_way if isinstance(attempts, int) else unknown, least)
    duplicates = data.get("duplicate_payments")
    if declined <= (len(duplicates) if isinstance(duplicates, list) else 0):
        return never  # their money was taken: that is known
    for until in (word_of(data), word_of(error if declined == 1 else None)):
        if until is None or (isinstance(until, int) and as_of and until <= as_of):
            return never
        if isinstance(until, int):
            return open | {"until": until} if as_of else open
    method = data.get("payment_method")
    is_card = isinstance(method, dict) and method.get("type") == "card"
    is_its_method = not is_under_way and (error is not None or status == "failed")
    if is_card and is_its_method and declined == 1:
        return never
    end = final_since
    with suppress(TypeError, ValueError):
        expires_at = datetime.fromisoformat(data.get("expires_at"))
        end = end or expires_at.replace(tzinfo=expires_at.tzinfo or UTC).timestamp()
    return never if as_of and end and as_of - end >= 24 * 60 * 60 else open


def read_return(request):
    named = request.GET.get("payment_ref", request.GET.get("payment_intent", ""))
    return read_status(request, named)


def show_page(request, status, data):
    """The page of a customer without script: a form's error, or what is known of a payment. While
    that may change, it loads itself again."""
    language = "fr" if request.headers.get("accept-language", "")[:2].lower() == "fr" else "en"
    texts = json.loads(FILES.joinpath("plain.json").read_text("utf-8"))
    shown = texts[language] | {"payment": "", "language": language}
    headers, state = {}, data.get("status") or data["error"]["code"]
    is_late = data.get("late", {}).get("state") == "open"
    is_late = is_late and state in ("failed", "canceled", "requires_action")
    if status < 400:
        amount = data.get("amount_payable") or data["amount"]
        shown["payment"] = f"{data['merchant_reference']}, {amount} XAF"
        if is_late or state not in ("succeeded", "failed", "canceled"):
            created_at = Payment.objects.get(pk=data["merchant_reference"]).created_at
            headers["refresh"] = min(30, 3 + int(time.time() - created_at) // 60)
    otherwise = shown["error" if status >= 400 else "processing"]
    shown["sentence"] = shown.get("late" if is_late else state, otherwise)
    html = FILES.joinpath("plain.html").read_text("utf-8")
    html = re.sub(r"\{(\w+)\}", lambda name: escape(shown[name[1]]), html)
    policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'"
    headers |= {"cache-control": "no-store", "content-security-policy": policy}
    return HttpResponse(html, status=status, headers=headers)


def settle_due():
    """The service calls no webhook, and a customer who pays and closes the tab sends no more
    requests. So cron runs this every few seconds. A payment that is old or final is read less
    often. A run reads every customer's first payment before anyone's second, and 8 at a time."""
    lock = open(f"{DATABASE}.lock", "w")  # the system frees it when this process ends, or is killed
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return log("Another run is settling. This one ends.")
    now = int(time.time())
    due = """SELECT *, ROW_NUMBER() OVER (
            PARTITION BY customer_id ORDER BY returned_at IS NULL, created_at DESC) AS place
        FROM shop_payment WHERE intent IS NOT NULL AND NOT is_over AND read_at <= %s
        ORDER BY place, returned_at IS NULL, created_at DESC LIMIT 200"""
    due = Payment.objects.raw(due, [now])
    with ThreadPoolExecutor(8) as pool:
        for payment, reply in [(one, pool.submit(one.read)) for one in due]:
            pause = 60 if payment.final_since else min(30, (now - payment.created_at) // 60)
            Payment.objects.filter(pk=payment.pk).update(read_at=now + pause)
            try:
                payment.settle(reply.result())
            except Exception as error:  # a later run reads the payment again
                isinstance(error, Refused) or log(repr(error))  # a Refused was logged


def call_service(method, path, body=None, headers={}, token=KEY):
    """Calls the service with the key, or a session token. Returns the data, and the `Date`."""
    address, deadline = urlsplit(SERVICE), time.monotonic() + 10
    connect = HTTPSConnection if address.scheme == "https" else HTTPConnection
    headers = headers | {"authorization": f"Bearer {token}", "content-type": "application/json"}
    try:
        http, text = connect(address.netloc, timeout=10), b""
        http.request(method, f"{address.path}/v1{path}", body, headers)
        response = http.getresponse()
        while (chunk := response.read1(65_536)) and time.monotonic() < deadline:
            text += chunk
        status, reply = response.status, dict(json.loads(text))
    except (OSError, HTTPException, ValueError, TypeError, RecursionError) as error:
        log(f"{method} {path}: no answer ({type(error).__name__}). Is the service running?")
        raise Refused(503, "unavailable", "The payment service does not answer.")
    if status < 300:
        as_of = None
        with suppress(TypeError, ValueError):
            as_of = int(parsedate_to_datetime(response.getheader("date")).timestamp())
        return (reply["data"] if isinstance(reply.get("data"), dict) else {}) | {"as_of": as_of}
    log(f"{method} {path}: {status} {reply.get('error')}: {reply.get('message')}")
    if busy := {429: "rate_limited", 503: "unavailable"}.get(status):
        raise Refused(status, busy, "The payment service is busy. Please try again.")
    # Also if it refuses the key: a 401 would tell the page that nobody is signed in.
    raise Refused(502, "service_failed", "The payment service refused the shop's request.")


def log(text):  # without the key, and without characters that could forge a line
    print(re.sub("[^ -~]", "?", text.replace(KEY, "***"))[:500], file=sys.stderr, flush=True)


def cross_site(reason=""):
    pages = " and ".join(dict.fromkeys([SHOP, PAGE]))
    return Refused(403, "cross_site", f"Only pages of {pages} may call this. {reason}".rstrip())


def no_csrf_token(request, reason=""):
    status, data = cross_site(reason).answer
    if request.content_type == FORM:
        return show_page(request, status, data)
    return JsonResponse(data, status=status)


# The page of SHOP_ORIGIN, and no other, may read the answers, with the cookie.
def for_the_page(get_response):
    def answer(request):
        is_of_the_page = PAGE != SHOP and request.headers.get("origin") == PAGE
        if is_of_the_page and request.method == "OPTIONS":
            response = HttpResponse(status=204)
        else:
            response = get_response(request)
        patch_vary_headers(response, ["origin"])
        if is_of_the_page:
            response["access-control-allow-origin"] = PAGE
            response["access-control-allow-credentials"] = "true"
            response["access-control-allow-headers"] = "content-type, x-csrftoken"
        return response

    return answer


# Answers only the shop's own pages, and only JSON, or a form where the page has one. Django itself
# checks the CSRF token of a POST. A customer comes to a page from the service's site.
def route(view, method="POST", for_all=False, has_form=False, is_page=False):
    def answer(request, **parts):
        request.is_form = has_form and request.content_type == FORM
        status, data = respond(request, **parts)
        if is_page or (request.is_form and status >= 400):
            return show_page(request, status, data)
        if request.is_form:
            response = HttpResponse(status=303)
            back = request.headers.get("origin", "") + "/"
            response["location"] = data["intent"]["checkout_url"] if data else back
            return response
        text = json.dumps(data).replace(KEY, "***")
        headers = {"cache-control": "no-store"}
        return HttpResponse(text, "application/json", status, headers=headers)

    def respond(request, **parts):
        origin, site = (request.headers.get(name) for name in ("origin", "sec-fetch-site"))
        try:
            own = (None, "none", "same-origin")
            sites = {PAGE: (None, "same-site"), SHOP: own, None: own}  # by origin
            if site not in sites.get(origin, ()) and not is_page:
                raise cross_site()
            request.wanted = wanted_of(request)
            request.customer = Customer.objects.filter(pk=request.session.get("customer")).first()
            if not request.customer and not for_all:
                raise Refused(401, "authentication_required", "Nobody is signed in.")
            return 200, view(request, **parts)
        except Refused as refused:
            return refused.answer
        except Exception as error:
            log(f"{type(error).__name__}: {error}")
            if isinstance(error, OperationalError) and "locked" in str(error):
                return Refused(503, "unavailable", "The shop is busy. Please try again.").answer
            return Refused(500, "internal_error", "The shop could not do this.").answer

    return require_http_methods([method])(answer)


def wanted_of(request):
    try:
        if request.is_form:
            return request.POST.dict()
        if request.body and request.content_type != "application/json":
            raise Refused(415, "unsupported_media_type", "Send JSON.")
        wanted = json.loads(request.body or "{}")
        json.dumps(wanted, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError, SuspiciousOperation):
        raise Refused(400, "invalid_json", "The request is no JSON, or too long.")
    return wanted if isinstance(wanted, dict) else {}


# What the demo's page shows, and its sign-in without a password.
def show_shop(request):
    orders = list(Order.objects.filter(customer=request.customer).values())
    for order in orders:
        order["refunds"] = RefundDue.objects.filter(order=order["id"]).count()
    shop = {"base_url": PUBLIC_URL, "customer": request.customer and request.customer.id}
    shop["csrf_token"] = get_token(request)  # a page of another host cannot read the cookie
    shop |= {"orders": orders, "products": list(Product.objects.values())}
    return shop | {"customers": list(Customer.objects.values_list("id", flat=True))}


def sign_in(request):
    customer = str(request.wanted.get("customer"))
    if not Customer.objects.filter(pk=customer).exists():
        raise Refused(422, "customer_unknown", "There is no such customer.")
    sign_out(request)
    request.session["customer"] = customer
    rotate_token(request)


def sign_out(request):
    login = request.session.session_key
    request.session.flush()
    end_tokens(login)


def index(request):
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    html = FILES.joinpath("index.html").read_text("utf-8").replace("</form>", f"{token}</form>")
    return HttpResponse(html, headers={"cache-control": "no-store"})


urlpatterns = [
    path("guichet/session", route(create_session)),
    path("guichet/intents", route(create_intent, has_form=True)),
    path("guichet/intents/<str:payment_ref>", route(read_status, "GET")),
    path("guichet/return", route(read_return, "GET", is_page=True)),
    path("shop", route(show_shop, "GET", for_all=True)),
    path("sign-in", route(sign_in, for_all=True, has_form=True)),
    path("sign-out", route(sign_out, for_all=True)),
    path("", index),
    re_path(r"^(?P<path>(?:[\w-]+/)*[\w-]+\.(?:js|css|wasm))$", serve, {"document_root": FILES}),
]
with connection.schema_editor() as editor:  # in a project of your own: migrations
    for model in (Session, SessionToken, Customer, Product, Order, Payment, RefundDue):
        if model._meta.db_table not in connection.introspection.table_names():
            editor.create_model(model)
if not Product.objects.exists():
    Customer("awa", "Awa", "Ngono", "awa@example.com").save()
    Customer("fatou", "Fatou", "Sali", None, "237670000000").save()
    Customer("paul", "Paul", "Biyik", "paul@example.com").save()
    Product("trainers", "45000", "Wouri trainers", "Baskets Wouri").save()
    Product("sandals", "12500", "Kribi sandals", "Sandales Kribi").save()
application = get_wsgi_application()  # gunicorn shop:application
if __name__ == "__main__":
    settle_due() if sys.argv[1:] == ["settle"] else execute_from_command_line(sys.argv)
