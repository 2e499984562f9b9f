"""What Parley can do: one text for everybody who plans or writes, so that no one promises what another cannot do."""

import sys

from parley.protocol.words import ACTIONS, WORKFLOWS
from shared.sandbox import Limits
from shared.sandbox.model import MB
from shared.settings import Settings

TEXT = """
For each request the person chooses one of four ways to work. Names in quotes are those on their page.
- “{conversation}”: a plan, then one Python program in one file. “{approve_plan}” has it written, “{approve_code}”
  accepts it, “{run_code}” runs it here, “{download}” saves it as .py, to run elsewhere. Here it has Python
  {python} and its standard library: no other package, no network, no other processes, no window; {wall:g} seconds,
  {memory} MB of memory, {disk} MB of files. Arguments and standard input are given before it starts; nobody can type
  while it runs. The person sees what it prints; files that it writes are deleted when it ends.
- “{agentflow}”: calls of tools, a few at a time, until the request can be answered. Each change of data is shown
  first, with “{approve}” and “{decline}”, unless they waived that.
- “{execution_plan}”: a plan of tool calls that “{approve_plan}” approves as a whole. Its steps can also ask the person,
  wait, and run a Python program with the limits above.
- “{flow}”: an SQL query that only reads, with at most {rows} rows and {seconds:g} seconds, answers a question about a
  database. The result is a table, a bar or line chart, and a CSV file.
Every question can be answered in words, as Markdown. Nothing else can be made here: no image, document, web page or
app, unless a tool makes it, or a program that the person downloads.
"""


def capabilities(settings: Settings) -> str:
    """The ways to work, what each makes and how it reaches the person, and the limits of programs and queries."""
    limits = Limits()
    numbers = {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "wall": limits.wall,
        "memory": limits.memory // MB,
        "disk": limits.disk // MB,
        "rows": settings.parley_sql_max_rows,
        "seconds": settings.parley_sql_timeout,
    }
    return TEXT.strip().format_map({**ACTIONS, **WORKFLOWS, **numbers})
