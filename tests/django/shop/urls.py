"""The pages of the shop."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path

from ojs_django import aenqueue, enqueue, enqueue_after_commit


def buy(request: HttpRequest) -> HttpResponse:
    """Enqueue a job at once."""
    return HttpResponse(enqueue("order.note").id)


async def buy_in_loop(request: HttpRequest) -> HttpResponse:
    """Enqueue a job at once, from a coroutine."""
    return HttpResponse((await aenqueue("order.note")).id)


def buy_later(request: HttpRequest) -> HttpResponse:
    """Enqueue a job with the transaction of the request."""
    return HttpResponse(enqueue_after_commit("order.note"))


urlpatterns = [
    path("admin/", admin.site.urls),
    path("buy/", buy),
    path("buy-in-loop/", buy_in_loop),
    path("buy-later/", buy_later),
]
