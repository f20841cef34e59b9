"""Django's settings. Those of the shop are read from the environment; README.md lists them."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

SHOP_URL = os.environ.get("SHOP_URL", "http://127.0.0.1:8000")  # this server, as browsers name it
IS_HTTPS = SHOP_URL.startswith("https:")
GUICHET_NAME = "shoes"  # as in shop.toml
GUICHET_SHOP = os.environ.get("GUICHET_SHOP", "http://127.0.0.1:4244")  # `guichet shop`
GUICHET_PUBLIC_URL = os.environ.get("GUICHET_PUBLIC_URL", "http://127.0.0.1:4243")  # the service
GUICHET_APP_SECRET = os.environ.get("GUICHET_APP_SECRET") or Path("app-secret").read_text()
# With https, a reverse proxy passes /guichet/ of this origin on to `guichet shop`.
MERCHANT = f"{SHOP_URL if IS_HTTPS else GUICHET_SHOP}/guichet"


def secret_key():
    """Made at the first start: the secret of the messages signs no login."""
    file = Path("secret_key")
    if not file.exists():  # if another process is first, its key stays
        with NamedTemporaryFile(dir=".", buffering=0) as new, suppress(FileExistsError):
            new.write(secrets.token_urlsafe(50).encode())
            os.link(new.name, file)  # its owner alone may read it
    return file.read_text()


SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY") or secret_key()
ALLOWED_HOSTS = [urlsplit(SHOP_URL).hostname]
INSTALLED_APPS = ["django.contrib.sessions"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_DATABASE", "shop.sqlite"),
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
    }
}
TIME_ZONE = "UTC"
MIGRATION_MODULES = {"sessions": None}  # models.py makes its table
LOGGING_CONFIG = None  # errors are printed

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
if IS_HTTPS:
    SECURE_SSL_REDIRECT = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# By Django's defaults a form would not tell `guichet shop`, at another port, which page sends it;
# and the payment window could not be seen by the page, nor close itself after the return.
SECURE_REFERRER_POLICY = "strict-origin-when-cross-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = None
