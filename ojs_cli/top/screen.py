"""Drawing of the screen: styled lines that fit the terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ojs_cli.commands.queues import QUEUES
from ojs_cli.commands.workers import WORKERS
from ojs_cli.output import Column, column
from ojs_cli.text import age, bar, cell, moment_ms, printable, span, sparkline
from ojs_cli.top.snapshot import Failing, Snapshot
from ojs_cli.top.view import KEYS, Row, View

if TYPE_CHECKING:
    from rich.text import Text

Json = dict[str, Any]
FOOT: Final = (
    "/ filter  s sort  tab table  space tag  P pause  R retry  C cancel  z freeze  ? keys  q quit"
)
FAILURES: Final = (
    column("TYPE", "type"),
    column("ERROR", "error"),
    column("DEAD", "dead", right=True),
    column("RETRY", "waiting", right=True),
    Column("LAST", lambda item, now: age(item.get("last"), now), right=True),
    column("QUEUE", "queue"),
)
STATES: Final = {"ok": "green", "nobody": "bold red", "paused": "bold yellow"}
# Lines around the table: the head, the column names, the lower part, and the foot.
AROUND: Final = 6
LOWER: Final = 4


def draw(
    snapshot: Snapshot, view: View, width: int, height: int, now_ms: int, trouble: str = ""
) -> list["Text"]:
    """Draw all lines of a screen."""
    from rich.text import Text

    lines = [*_head(snapshot, view, now_ms, trouble, width)]
    if view.helping:
        lines += [Text(f" {keys:14}{what}") for keys, what in KEYS]
    else:
        lower = _lower(snapshot, now_ms, width) if height >= 20 and view.table == "queues" else []
        room = max(height - AROUND - len(lower), 1)
        lines += _table(snapshot, view, room, now_ms, width)
        lines += [Text()] * (height - 1 - len(lower) - len(lines))
        lines += lower
    lines = lines[: height - 1] + [Text()] * (height - 1 - len(lines))
    lines.append(_foot(view))
    for line in lines:
        line.no_wrap = True
        line.truncate(width, overflow="crop")
    return lines


def _head(
    snapshot: Snapshot, view: View, now_ms: int, trouble: str, width: int
) -> Iterable["Text"]:
    from rich.text import Text

    head = Text()
    head.append("ojs top", "bold")
    head.append(f"  {printable(snapshot.name)}  ")
    if trouble:
        head.append(
            f"no answer for {span(now_ms - snapshot.at_ms)}: {printable(trouble)}", "bold red"
        )
    else:
        head.append("frozen" if view.frozen else "live", "yellow" if view.frozen else "green")
    yield head
    jobs = snapshot.statistics.get("jobs") or {}
    places = sum(int(worker.get("concurrency") or 0) for worker in snapshot.workers)
    active = int(jobs.get("active") or 0)
    share = active / places if places else 0.0
    second = Text(f" avail {jobs.get('available', 0):,}  active {active:,}/{places:,} ")
    second.append(f"[{bar(share, 16)}]", "cyan")
    second.append(f" {share:.0%}  sched {jobs.get('scheduled', 0):,}")
    second.append(
        f"  retry {jobs.get('retryable', 0):,}", "yellow" if jobs.get("retryable") else ""
    )
    second.append(f"  dead {jobs.get('discarded', 0):,}", "red" if jobs.get("discarded") else "")
    yield second
    rates = snapshot.statistics.get("throughput") or {}
    went_in, out, failed = (
        float(rates.get(f"{name}_per_minute") or 0) for name in ("enqueued", "processed", "failed")
    )
    third = Text(f" in {went_in:,.0f}/min  out {out:,.0f}/min  ")
    share = failed / (out + failed) if out + failed else 0.0
    third.append(f"failed {failed:,.0f} ({share:.1%})", "red" if failed else "")
    if oldest := _oldest(snapshot):
        third.append(f"  oldest {age(oldest, now_ms)}")
    last = snapshot.history[-1] if snapshot.history else {}
    for name in ("p50", "p99"):
        if (value := last.get(f"latency_{name}_ms")) is not None:
            third.append(f"  run {name} {span(value)}")
    yield third
    minutes = [float(minute.get("processed") or 0) for minute in snapshot.history]
    yield Text(f" out/min  {sparkline(minutes[-max(width - 12, 1) :])}" if minutes else "", "dim")


def _oldest(snapshot: Snapshot) -> Any:
    moments = [
        queue["oldest_available_at"]
        for queue in snapshot.queues
        if queue.get("oldest_available_at")
    ]
    return min(moments, key=lambda moment: moment_ms(moment) or 0, default=None)


def _table(snapshot: Snapshot, view: View, room: int, now_ms: int, width: int) -> Iterable["Text"]:
    from rich.text import Text

    rows = view.rows(snapshot)
    columns = _columns(view, snapshot)
    place = view.place(rows)
    first = min(max(place - room + 1, 0), max(len(rows) - room, 0))
    shown = rows[first : first + room]
    texts = [[column.show(_item(row), now_ms) for column in columns] for row in shown]
    sizes = _sizes(columns, texts, width - 2)
    head = Text("  ")
    for one, size in zip(columns, sizes, strict=False):
        head.append(_fit(one.head, size, right=one.right) + "  ", "bold")
    yield head
    for number, (row, cells) in enumerate(zip(shown, texts, strict=True), first):
        line = Text(">" if number == place else " ")
        line.append("*" if row.key in view.tagged else " ")
        for one, text, size in zip(columns, cells, sizes, strict=False):
            style = "" if number == place else one.style_of(text)
            line.append(_fit(text, size, right=one.right) + "  ", style)
        if number == place:
            line.stylize("reverse")
        yield line


def _columns(view: View, snapshot: Snapshot) -> Sequence[Column]:
    if view.table == "workers":
        return WORKERS
    if view.table == "failures":
        return FAILURES
    served = {str(name) for worker in snapshot.workers for name in worker.get("queues") or ()}

    def workers(item: Json, _: int) -> str:
        mine = [
            worker for worker in snapshot.workers if item["name"] in (worker.get("queues") or ())
        ]
        return str(len(mine))

    def state(item: Json, _: int) -> str:
        if item.get("paused"):
            return "paused"
        waits = (item.get("counts") or {}).get("available")
        return "nobody" if waits and item["name"] not in served else "ok"

    columns = [column for column in QUEUES if not column.wide]
    columns[1] = Column("STATE", state, states=STATES)
    return (*columns, Column("WRK", workers, right=True))


def _item(row: Row) -> Json:
    if isinstance(row.item, Failing):
        return {name: getattr(row.item, name) for name in row.item.__struct_fields__}
    assert isinstance(row.item, dict)
    return row.item


def _sizes(columns: Sequence[Column], texts: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the width of each column; those for which there is no room are left out."""
    from rich.cells import cell_len

    found: list[int] = []
    left = width
    for place, each in enumerate(columns):
        size = max([len(each.head), *(cell_len(row[place]) for row in texts)])
        size = min(size, 36)
        if size > left:
            break
        found.append(size)
        left -= size + 2
    return found


def _fit(text: str, size: int, *, right: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) > size:
        return set_cell_size(text, size - 1) + "…"
    space = " " * (size - cell_len(text))
    return space + text if right else text + space


def _lower(snapshot: Snapshot, now_ms: int, width: int) -> list["Text"]:
    """Draw the last failures, and beside them the jobs that have run longest."""
    from rich.text import Text

    half = max(width // 2, 20)
    failing = [
        f"{age(group.last, now_ms):>6}  {group.type}  {group.error}  x{group.dead + group.waiting}"
        for group in snapshot.failing[: LOWER - 1]
    ]
    running = [
        f"{age(job.get('started_at'), now_ms):>6}  {job.get('type')}  {job.get('worker_id') or ''}"
        for job in snapshot.running[: LOWER - 1]
    ]
    lines = [Text(f"{' LAST FAILURES':{half}}{' RUNNING LONGEST'}", "bold")]
    for place in range(LOWER - 1):
        left = cell(failing[place]) if place < len(failing) else ""
        right = cell(running[place]) if place < len(running) else ""
        lines.append(Text(f" {_fit(left, half - 2, right=False)} {right}"))
    return lines


def _foot(view: View) -> "Text":
    from rich.text import Text

    if view.to_confirm is not None:
        return Text(f" {printable(view.to_confirm.question)}? [y/N]", "bold yellow")
    if view.typing:
        return Text(f" /{printable(view.filter)}_", "bold")
    if view.message:
        return Text(f" {printable(view.message)}", "bold")
    foot = Text(f" {FOOT}", "dim")
    if view.filter:
        foot = Text(f" /{printable(view.filter)}  ", "bold").append(FOOT, "dim")
    return foot
