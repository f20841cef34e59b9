"""The check in a test of Django: LiveServerTestCase serves the shop, and the command checks it at its address.
`GUICHET` is the command. `python -m unittest` uses the shop's own database, which is new."""

import json, os, socket, subprocess


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# The shop reads them when it is imported.
SERVICE, PORT = f"127.0.0.1:{free_port()}", free_port()
os.environ |= {"GUICHET_BASE_URL": f"http://{SERVICE}", "SHOP_URL": f"http://localhost:{PORT}"}
import shop
from django.test import LiveServerTestCase, override_settings


@override_settings(STATIC_URL="static/", MEDIA_URL="media/")
class TheShop(LiveServerTestCase):
    port = PORT

    def test_passes_the_check(self):
        options = {"--listen": SERVICE, "--csrf": "csrftoken=X-CSRFToken"}
        options |= {"--order-pattern": '{"id":"N-%d","product":"trainers"}'}
        command = [os.environ["GUICHET"], "check", self.live_server_url, "--json"]
        command += [part for option in options.items() for part in option]
        for customer in ("awa", "paul"):
            command += ["--login", f'POST /sign-in {{"customer":"{customer}"}}']
        for rule in ("order_becomes_payment", "return_nonce_agrees", "strangers", "same_site_refused"):
            command += ["--only", rule]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(len(lines := done.stdout.splitlines()), 2, done.stderr)
        report = json.loads(lines[1])
        self.assertEqual((report["passed"], done.returncode), (5, 0), lines[1])
