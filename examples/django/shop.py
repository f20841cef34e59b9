"""A shop on Django beside `guichet shop`, which takes its payments. README.md says how to run."""

import json, os, re, secrets, sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener
from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token, rotate_token
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.static import serve
from standardwebhooks import Webhook, WebhookVerificationError

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
settings.ROOT_URLCONF = __name__
application = get_wsgi_application()  # gunicorn shop:application
from models import CUSTOMERS, Order, Product

# During a rotation there are two secrets. The first one signs.
WEBHOOKS = [Webhook(secret) for secret in settings.GUICHET_APP_SECRET.split()]


@csrf_exempt
def payments(request):
    """Answers the messages of `guichet shop`."""
    answers = {"customer": customer, "purchase": purchase, "order_changed": order_changed}
    message = verify(request) or {}
    if message.get("audience") != settings.GUICHET_NAME or message["type"] not in answers:
        return HttpResponse(status=400)
    return answers[message["type"]](request, message)


def verify(request):
    for webhook in WEBHOOKS:
        with suppress(WebhookVerificationError, ValueError):
            return webhook.verify(request.body, request.headers)


def customer(request, message):
    """Who is signed in, by the browser's own cookie."""
    id, login = request.session.get("customer"), request.session.session_key
    if id not in CUSTOMERS:
        return HttpResponse(status=401)
    return JsonResponse(CUSTOMERS[id] | {"id": id, "login": login, "email_verified": True})


def purchase(request, message):
    """The page names a product and its basket. The shop sets the order and its price."""
    order = find_order(message["customer"]["id"], message["order"])
    if not order:
        error = {"code": "order_missing", "message": "There is no such order."}
        return JsonResponse(error, status=404)
    product = Product.objects.filter(pk=order.product_id).first()
    if not product:
        error = {"code": "order_ended", "message": "The shop no longer sells this."}
        return JsonResponse(error | {"name": order.name}, status=409)
    is_form = order.basket.startswith("next:")
    back = f"{settings.MERCHANT}/return" if is_form else f"{settings.SHOP_URL}/"
    price = {"amount": product.amount, "currency": "XAF", "fee_bearer": "customer"}
    price |= {"description": getattr(product, message["customer"]["language"])}
    return JsonResponse({"name": order.name, "purchase": price | {"redirect_url": back}})


def find_order(customer, wanted):
    """The customer's own order, or a new one if the shop has the product."""
    match wanted:
        case {"id": str(basket), "product": str(product)} if re.fullmatch(r"[\w-]{1,64}", basket):
            orders = Order.objects.filter(customer=customer, product_id=product)
        case _:
            return None
    if basket == "next":  # a form means one order, until that is paid; no page can name it
        paid = orders.filter(basket__startswith="next:", paid_by__isnull=False)
        basket = f"next:{paid.count()}"
    if not Product.objects.filter(pk=product).exists():
        return orders.filter(basket=basket).first()
    key = {"customer": customer, "product_id": product, "basket": basket}
    return Order.objects.get_or_create(**key, defaults={"name": f"ORDER-{secrets.token_hex(8)}"})[0]


def order_changed(request, message):
    """Stores what an order has become. It comes at least once, and in any order."""
    name, version, state = message["name"], message["version"], message["state"]
    refunds, paid_by = message["refunds_due"], (message.get("paid_by") or {}).get("reference")
    with transaction.atomic():  # what ships the goods belongs here, too
        before = Order.objects.select_for_update().get(name=name)
        if message.get("restored") and state == "unpaid" and before.state != "unpaid":
            print(f"{name} is {before.state} here; a restored ledger lost that: look.", flush=True)
            state, paid_by = before.state, before.paid_by
        older = Order.objects.filter(name=name, version__lt=version)
        if not older.update(version=version, state=state, paid_by=paid_by, refunds=refunds):
            return HttpResponse(status=204)
    odd = {"paid_other_sum": "with another sum", "paid_after_end": "after its end"}.get(state)
    if state not in ("unpaid", before.state):
        print(f"{name} is paid {odd}: a person decides." if odd else f"{name} is paid.", flush=True)
    known = [(refund["id"], refund.get("attempt")) for refund in before.refunds]
    for refund in refunds:
        id, attempt = refund["id"], refund.get("attempt")  # none: the whole payment
        if (id, attempt) not in known:
            payment = f"{id}, attempt {attempt}" if attempt else id
            fee = " and the fee" if refund.get("plus_fee") else ""
            sum = f"{refund['amount']} {refund['currency']}{fee}"
            print(f"{name}: a refund of {sum} is due ({payment}).", flush=True)
    return HttpResponse(status=204)


def index(request):
    token = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    html = Path("page/index.html").read_text("utf-8")
    html = html.replace('action="/guichet/', f'action="{settings.MERCHANT}/')
    return HttpResponse(html.replace('action="/sign-in">', f'action="/sign-in">{token}'))


def shop(request):
    """What the page shows."""
    customer = request.session.get("customer")
    orders = list(Order.objects.filter(customer=customer).order_by("pk").values())
    for order in orders:
        order |= {"id": order["name"], "refunds": len(order["refunds"])}
    shown = {"customers": list(CUSTOMERS), "customer": customer, "orders": orders}
    shown |= {"products": list(Product.objects.values())}
    shown |= {"base_url": settings.GUICHET_PUBLIC_URL, "merchant": settings.MERCHANT}
    return JsonResponse(shown, headers={"cache-control": "no-store"})


@require_POST
def sign(request, is_in):
    """Ends a login. The demo begins another one without a password."""
    is_json = request.content_type == "application/json"
    wanted = json.loads(request.body) if is_json else request.POST
    name = str(wanted.get("customer"))
    if is_in and name not in CUSTOMERS:
        return HttpResponse(status=422)
    if login := request.session.session_key:
        request.session.flush()
        end_tokens(login)
    if is_in:
        request.session["customer"] = name
        rotate_token(request)
    return JsonResponse({}) if is_json else HttpResponseRedirect("/")


def end_tokens(login):
    """Revokes the session tokens of a login. If that fails, they end by themselves."""
    body = json.dumps({"type": "login_ended", "audience": settings.GUICHET_NAME, "login": login})
    id, now = f"msg_{secrets.token_hex(16)}", datetime.now(UTC)
    signed = {"webhook-id": id, "webhook-timestamp": str(int(now.timestamp()))}
    signed["webhook-signature"] = WEBHOOKS[0].sign(id, now, body)
    message = Request(f"{settings.GUICHET_SHOP}/app", body.encode(), signed)
    try:  # without the proxies of the environment
        build_opener(ProxyHandler({})).open(message, timeout=2).close()
    except OSError as error:
        print(f"The session tokens of a login are not revoked: {error}", flush=True)


urlpatterns = [
    path("", index),
    path("payments", payments),
    path("shop", shop),
    path("sign-in", sign, {"is_in": True}),
    path("sign-out", sign, {"is_in": False}),
    re_path(r"^(?P<path>[\w/-]+\.(?:js|css|wasm))$", serve, {"document_root": "page"}),
]
if __name__ == "__main__":
    execute_from_command_line(sys.argv)
