"""A shop of FastAPI and SQLAlchemy: an order and the job that confirms it are stored together.

The job goes to an outbox in the shop's own database, in the transaction of the order. The
application sends the outbox to the server, and works on the jobs.

    pip install 'ojs-reference[outbox,starlette]' fastapi aiosqlite greenlet uvicorn
    ojs-server --database jobs.db &
    OJS_URL=http://127.0.0.1:8080 uvicorn shop:app --app-dir examples/fastapi --port 8000

    curl http://127.0.0.1:8000/orders -H 'Content-Type: application/json' \\
        -d '{"number": 1, "customer": "Ada"}'
    curl http://127.0.0.1:8000/orders/1
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import create_engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ojs_starlette import Jobs, RequestContext
from ojs_worker import Context, Worker, outbox
from ojs_worker.outbox.relay import Relay

DATABASE = os.environ.get("SHOP_DATABASE", "shop.db")
engine = create_async_engine(f"sqlite+aiosqlite:///{DATABASE}")
sessions = async_sessionmaker(engine)
worker = Worker(queues=["orders"])
# The relay blocks a thread of its own, so it has a driver that blocks.
relay = Relay(f"sqlite:///{DATABASE}")


class Table(DeclarativeBase):
    """Base of the tables."""


class Order(Table):
    """An order, and the job that confirms it."""

    __tablename__ = "orders"

    number: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    confirmation: Mapped[str | None]
    confirmed: Mapped[bool] = mapped_column(default=False)


@worker.job("order.confirm", queue="orders")
async def confirm(ctx: Context, number: int) -> None:
    """Confirm an order; again if need be, for a job may run twice."""
    async with sessions.begin() as session:
        order = await session.get_one(Order, number)
        order.confirmed = True


async def transaction() -> AsyncIterator[AsyncSession]:
    """The transaction of a request: committed if that ends well, rolled back otherwise."""
    async with sessions.begin() as session:
        yield session


@asynccontextmanager
async def tables() -> AsyncIterator[None]:
    """Create what is missing. In a larger program, migrations do so."""
    with create_engine(f"sqlite:///{DATABASE}").begin() as connection:
        if not connection.dialect.has_table(connection, Order.__tablename__):
            Table.metadata.create_all(connection)
            for statement in outbox.statements("sqlite"):
                connection.exec_driver_sql(statement)
    yield
    await engine.dispose()


jobs = Jobs(worker.client, tables(), relay, worker)
app = FastAPI(lifespan=jobs.lifespan)
app.add_middleware(RequestContext)


class NewOrder(BaseModel):
    """An order as a customer places it."""

    number: int
    customer: str


@app.post("/orders", status_code=201)
async def place(
    order: NewOrder,
    # The transaction is committed before the answer is sent.
    session: Annotated[AsyncSession, Depends(transaction, scope="function")],
) -> dict[str, Any]:
    """Place an order."""
    confirmation = await outbox.enqueue(session, confirm, order.number)
    session.add(Order(number=order.number, customer=order.customer, confirmation=confirmation))
    try:
        await session.flush()
    except IntegrityError:
        # The job is rolled back with the order.
        raise HTTPException(409, f"there is an order {order.number} already") from None
    return {"number": order.number, "confirmation": confirmation}


@app.get("/orders/{number}")
async def show(
    number: int, session: Annotated[AsyncSession, Depends(transaction)]
) -> dict[str, Any]:
    """Show an order."""
    order = await session.get(Order, number)
    if order is None:
        raise HTTPException(404, "there is no such order")
    return {"number": number, "customer": order.customer, "confirmed": order.confirmed}
