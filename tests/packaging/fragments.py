"""Run files one after the other in one namespace, in which `await` may stand at the top."""

import ast
import asyncio
import inspect
import sys
from pathlib import Path


async def main(texts: dict[str, str]) -> None:
    """Run texts of files, by their names."""
    for name, text in texts.items():
        running = eval(compile(text, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), globals())
        if inspect.iscoroutine(running):
            await running


if __name__ == "__main__":
    asyncio.run(main({name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]}))
