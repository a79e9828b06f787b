"""The official Python client against `cargo cutegen mcp`: python3 client.py KERNEL SOURCE PROGRAM ARGS...

It prints how far it is, and at last the state of the candidate."""

import asyncio
import json
import os
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOOLS = ["kernels", "task", "kit", "propose", "verdict", "history", "best"]
OPEN = ["waiting", "compiling", "screening", "timing", "whole gate"]
MOST = 18_000
SECONDS = 20


async def timed(session, tool, arguments):
    """An answer, which comes in time."""
    asked = time.monotonic()
    result = await session.call_tool(tool, arguments)
    took = time.monotonic() - asked
    assert took <= SECONDS, f"{tool}: {took:.1f} s"
    return result


async def call(session, tool, arguments):
    """The texts of an answer, which is not longer than it may be."""
    result = await timed(session, tool, arguments)
    texts = [block.text for block in result.content]
    assert not failed(result), texts
    assert sum(map(len, texts)) <= MOST, tool
    return "\n".join(texts)


def failed(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", False)


async def judged(session, kernel, source):
    told = json.loads(await call(session, "propose", {"kernel": kernel, "source": source}))
    while told["state"] in OPEN:
        told = json.loads(await call(session, "verdict", {"id": told["id"], "wait_seconds": 15}))
    return told


async def main(kernel, source, program, *arguments):
    server = StdioServerParameters(command=program, args=list(arguments), env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        print("initialised", hello)
        listed = await session.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS, listed
        assert kernel in await call(session, "kernels", {})
        assert "@ENTRY@" in await call(session, "task", {"kernel": kernel})
        assert "kit/" in await call(session, "kit", {})
        assert failed(await timed(session, "task", {"kernel": "no-such"}))
        told = await judged(session, kernel, source)
        assert told["id"] in await call(session, "history", {"kernel": kernel})
        best = await timed(session, "best", {"kernel": kernel})
        assert best.content[-1].text == source, best
        print(told["state"])


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        asyncio.run(main(sys.argv[1], file.read(), *sys.argv[3:]))
