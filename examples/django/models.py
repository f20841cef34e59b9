"""The demo's customers, products and orders. Replace the first two by your own."""

from django.contrib.sessions.models import Session
from django.db import connection, models

CUSTOMERS = {
    "awa": {"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"},
    "fatou": {"firstname": "Fatou", "lastname": "Sali", "phone": "237670000000"},
    "paul": {"firstname": "Paul", "lastname": "Biyik", "email": "paul@example.com"},
}


class Product(models.Model):
    id = models.CharField(primary_key=True)
    amount, en, fr = models.CharField(), models.CharField(), models.CharField()

    class Meta:
        app_label = "shop"


class Order(models.Model):
    name = models.CharField(unique=True)
    customer, basket, product_id = models.CharField(), models.CharField(), models.CharField()
    version, state = models.BigIntegerField(default=0), models.CharField(default="unpaid")
    paid_by, refunds = models.CharField(null=True), models.JSONField(default=list)

    class Meta:
        app_label = "shop"
        unique_together = [("customer", "basket", "product_id")]


with connection.schema_editor() as editor:  # in a project of your own: migrations
    for model in (Session, Product, Order):
        if model._meta.db_table not in connection.introspection.table_names():
            editor.create_model(model)
    if not Product.objects.exists():
        Product("trainers", "45000", "Wouri trainers", "Baskets Wouri").save()
        Product("sandals", "12500", "Kribi sandals", "Sandales Kribi").save()
