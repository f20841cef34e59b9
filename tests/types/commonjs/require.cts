// A CommonJS module, which loads the package by `require`.
import guichet = require("guichet");
import hosted = require("guichet/hosted");
import words = require("guichet/words");

const client: guichet.Guichet = guichet.createGuichet({ baseUrl: "/pay" });
client.paymentMethods().catch((error: unknown) => words.describe(error, "en"));
hosted.openHostedCheckout({ baseUrl: "/pay", intent: location.href }).then((page) => page.intent.status);
