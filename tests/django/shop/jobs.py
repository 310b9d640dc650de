"""Handlers of the shop."""

from ojs_worker import Router
from tests.django.shop.models import Order

router = Router()


@router.job("order.confirm", queue="mail")
def confirm(order_id: int) -> str:
    order = Order.objects.get(pk=order_id)
    order.state = "confirmed"
    order.save()
    return order.email


@router.job("order.count")
async def count() -> int:
    return await Order.objects.acount()
