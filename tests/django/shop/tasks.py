"""Tasks of the shop."""

from typing import Any

from ojs_django.tasks.framework import AnyContext
from ojs_worker import Discard
from tests.django.shop.models import Order
from tests.django.tasks_framework import task


@task
def add(left: int, right: int = 1) -> int:
    return left + right


@task(queue_name="quick", priority=7)
def total(orders: list[int]) -> int:
    return Order.objects.filter(pk__in=orders).count()


@task
async def greet(name: str) -> str:
    return f"hello {name}"


@task
def fail(message: str) -> None:
    raise ValueError(message)


@task(backend="patient")
def fail_twice(message: str) -> None:
    raise ValueError(message)


@task
def leave() -> None:
    raise SystemExit("enough")


@task(backend="patient")
def give_up() -> None:
    raise Discard("no use")


@task
def unwritable() -> Any:
    return object()


@task(takes_context=True)
def own_id(context: AnyContext, mark: str) -> list[Any]:
    return [mark, context.task_result.id, context.attempt]


@task(backend="patient", takes_context=True)
def succeed_later(context: AnyContext) -> int:
    if context.attempt < 2:
        raise ValueError("not yet")
    return context.attempt


@task(backend="committed")
def after_all(order_id: int) -> str:
    return Order.objects.get(pk=order_id).email
