"""Jobs in applications of Starlette and FastAPI.

    from ojs_starlette import Jobs, RequestContext
    from ojs_worker import Client

    jobs = Jobs(Client("http://127.0.0.1:8080"))
    app = FastAPI(lifespan=jobs.lifespan)
    app.add_middleware(RequestContext)

    @app.post("/users")
    async def sign_up(client: Annotated[Client, Depends(jobs.client)]) -> None:
        await client.enqueue("email.send", ["ada@example.org"])

The client, and what else is given to `Jobs`, live as long as the application.
"""

from ojs_starlette.jobs import Jobs
from ojs_starlette.request_context import RequestContext

__all__ = ["Jobs", "RequestContext"]
