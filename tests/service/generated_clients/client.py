"""Uses the client that openapi-python-client generates from docs/openapi.json, against a running sandbox."""

import os

from service import AuthenticatedClient
from service.api.payment_intents import create_payment_intent, read_payment_intent
from service.models import (
    CreatePaymentIntentBody,
    Error,
    ErrorCode,
    PaymentIntentResponse,
    PaymentIntentStatus,
)


def order(amount: str) -> CreatePaymentIntentBody:
    return CreatePaymentIntentBody(
        merchant_reference="ORDER-17",
        amount=amount,
        description="A pair of shoes",
        firstname="Awa",
        lastname="Ngono",
        email="awa@example.com",
    )


client = AuthenticatedClient(base_url=os.environ["GUICHET_BASE_URL"], token=os.environ["GUICHET_SECRET_KEY"])

created = create_payment_intent.sync(client=client, body=order("45000"))
assert isinstance(created, PaymentIntentResponse), created
assert created.status_code == 201
assert (created.data.amount, created.data.currency) == ("45000", "XAF"), created.data
assert created.data.status is PaymentIntentStatus.REQUIRES_ACTION

again = create_payment_intent.sync(client=client, body=order("45000"))
assert isinstance(again, PaymentIntentResponse) and again.status_code == 200, again
assert again.data.id == created.data.id

read = read_payment_intent.sync(created.data.id, client=client)
assert isinstance(read, PaymentIntentResponse), read
assert read.data == created.data

refused = create_payment_intent.sync(client=client, body=order("45.00"))
assert isinstance(refused, Error), refused
assert (refused.status_code, refused.error.code) == (422, ErrorCode.PARAMETER_INVALID), refused
assert [field.param for field in refused.error.errors] == ["amount"], refused
