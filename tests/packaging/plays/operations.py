"""Plays of the pages on running servers: on SQLite, without keys and with them, on PostgreSQL,
behind nginx, as systemd starts them, and for programs of other kinds."""

import json
import re
from typing import Final

import yaml

from tests import postgres_programs
from tests.authority import Authority
from tests.packaging.page import ROOT, Block, Page
from tests.packaging.playing import Reader
from tests.packaging.plays.judge import SELECTING
from tests.packaging.plays.programs import needs, program, systemd, with_nginx
from tests.packaging.shell import Shell
from tests.postgres import Server

INSTALL: Final = "pip install '../ojs-reference[server,cli]'"
# The user of PostgreSQL is not one of this machine.
SUPERUSER: Final = 'export PGHOST=127.0.0.1 PGUSER=postgres; sudo() { "${@:3}"; }'
JOBS: Final = """
from ojs_worker import Worker

worker = Worker()


@worker.cron("0 3 * * *")
@worker.job("orders.report")
def report() -> None: ...
"""
_SELECTED: Final = re.compile(r'(ojs_\w+)(?:\{(\w+="\w+")\})?')


async def operations(page: Page, reader: Reader) -> None:
    settings = page.one("Settings", "toml").text + page.one("Keys and roles", "toml").text
    unit = page.one("systemd", "ini")
    sections = ("Limits and bounds of queues", "Tenants", "Pools", "Canary versions")
    changes = [block for section in sections for block in page.take(section)]
    replaced = {"/opt/ojs/bin/": f"{reader.environment}/bin/"}
    async with reader.starts(INSTALL, replaced=replaced) as run:
        await _on_sqlite(page, changes, reader, run)
        await run.run("unset OJS_KEYS OJS_AUTH_TOKEN OJS_PORT")
        await _with_a_file_of_settings(settings, unit, reader, run)
        await _superuser(reader, run)
        await reader.play(page.take("PostgreSQL"), run)
        await run.says("… listens on …")
        await run.run("kill $!; wait $!")


async def _on_sqlite(page: Page, changes: list[Block], reader: Reader, run: Shell) -> None:
    """Change settings, back the database up, and rescue it after its removal; then change them
    with a key."""
    await _serves(run, "ojs-server")
    await reader.play(changes, run)
    backup, rescue = page.take("SQLite")
    await reader.play([backup], run)
    await run.run("pid=$!; rm ojs.db ojs.db-wal")
    await reader.play([rescue], run)
    # Killed, as the page says.
    await run.run("wait $pid || true")
    key = "the-key-of-an-admin"
    await run.run(f"export OJS_KEYS=admin:{key} OJS_AUTH_TOKEN={key}")
    await _serves(run, "ojs-server")
    await run.run("curl -sS $ojs/queues/email/config")
    await run.prints('{"config": {"concurrency": 20}}')
    await reader.play(changes, run)
    await run.run("kill $!; wait $!")


async def _with_a_file_of_settings(settings: str, unit: Block, reader: Reader, run: Shell) -> None:
    """Start the server as systemd does, and show each key of the file its roles."""
    reader.write("/etc/ojs.toml", run.here(settings))
    (reader.shop / "var/lib/ojs").mkdir(parents=True)
    await _serves(run, systemd(unit, reader, run)["ExecStart"])
    roles = {1: "producer", 2: "worker", 3: "operator", 4: "operator", 5: "worker+producer"}
    for number, role in roles.items():
        key = f"a-long-random-text-{number}"
        await run.run(f"OJS_AUTH_TOKEN={key} curl -sS http://127.0.0.1:9000/ojs/v1/me")
        await run.prints(json.dumps({"roles": role.split("+")}))
    await run.run("kill $!; wait $!")


async def production(page: Page, reader: Reader) -> None:
    server: Server = reader.request.getfixturevalue("durable_postgres")
    proxy = program("nginx")
    public = "https://localhost:9000" if proxy else "http://127.0.0.1:8081"
    replaced = {
        "host=/var/run/postgresql": server.near_url.partition("?")[2],
        "https://jobs.example.com": public,
        "jobs.example.com": "localhost",
        "listen 443 ssl": "listen 127.0.0.1:9000 ssl",
    }
    async with reader.starts(INSTALL, replaced=replaced) as run:
        await _superuser(reader, run)
        await run.run("unset OJS_PORT")
        for section in ("Database", "Keys", "Two servers"):
            await reader.play(page.take(section), run)
        tls = page.one("TLS", "nginx")
        if proxy:
            authority = Authority(reader.folder)
            certificate = authority.certificate("localhost").read_text()
            for name in ("pem", "key"):
                reader.write(f"/etc/ssl/jobs.{name}", certificate)
            await with_nginx(run.here(tls.text), reader, run)
            await run.run(f"export OJS_TLS_CA_FILE={authority.file}")
        reader.write("myapp/jobs.py", JOBS)
        await reader.play(page.take("Applications and workers"), run)
        await run.says("… the cron entry orders.report is registered")
        await reader.play(page.take("Check"), run)
        await run.run("OJS_AUTH_TOKEN=KEY-OF-THE-SHOP-MADE-AS-ABOVE ojs enqueue nobody.works")
        await _alarm(page.take("Alarm"), reader, run)
        await reader.play(page.take("Backup"), run)


async def fastapi(page: Page, reader: Reader) -> None:
    start, *rest = page.take()
    async with reader.starts() as run:
        await reader.play([start], run)
        await run.says("… listens on …")
        await reader.play(rest, run)


async def transactions(page: Page, reader: Reader) -> None:
    replaced = {"mysql+pymysql://shop@127.0.0.1/shop": reader.request.getfixturevalue("mysql")}
    async with reader.starts(
        "pip install '../ojs-reference[server,cli,outbox]'", replaced=replaced
    ) as run:
        await _superuser(reader, run)
        start, *rest = page.take()
        await reader.play([start], run)
        await run.says("… listens on …")
        await reader.play(rest, run)


async def adapters(page: Page, reader: Reader) -> None:
    async with reader.starts("pip install '../ojs-reference[server,conformance]'") as run:
        (reader.shop / "examples").symlink_to(ROOT / "examples")
        await _superuser(reader, run)
        await run.run(SELECTING)
        await reader.play(page.take("Judging a framework adapter"), run)
        await run.says("… 1 pass")
        await reader.play(page.take("The program"), run)


async def _alarm(shown: list[Block], reader: Reader, run: Shell) -> None:
    """Read the metrics as Prometheus is told to, and find those that its rules name."""
    scraping, rules = (yaml.safe_load(block.text) for block in shown)
    (job,) = scraping["scrape_configs"]
    reader.write("/etc/prometheus/ojs.key", "KEY-OF-PROMETHEUS-MADE-AS-ABOVE")
    await run.run(f"export OJS_AUTH_TOKEN=$(cat {job['authorization']['credentials_file']})")
    for target in job["static_configs"][0]["targets"]:
        await run.run(f"curl -sS http://{target}/metrics")
    exposed = run.lines[run.place :]
    for rule in rules["groups"][0]["rules"]:
        assert rule.keys() <= {"alert", "expr", "for"}
        for metric, label in _SELECTED.findall(rule["expr"]):
            assert any(line.startswith(f"# TYPE {metric} ") for line in exposed), metric
            if label:
                assert any(line.startswith(metric) and label in line for line in exposed), label


async def _superuser(reader: Reader, run: Shell) -> None:
    """Become the superuser of a PostgreSQL of the test's own."""
    server: Server = reader.request.getfixturevalue("durable_postgres")
    programs = postgres_programs.chosen(reader.request.getfixturevalue("run_folder"))
    await run.run(f"{SUPERUSER}; export PGPORT={server.port} PATH={programs}:$PATH")


async def _serves(run: Shell, command: str) -> None:
    await run.run(f"{command} &")
    await run.says("… listens on …")


async def clients(page: Page, reader: Reader) -> None:
    needs("nginx", "docs/clients.md and the proxy of docs/production.md")
    key = "the-key-of-an-admin"
    async with reader.starts(
        INSTALL, {"OJS_KEYS": f"admin:{key}"}, {"Bearer KEY": f"Bearer {key}"}
    ) as run:
        await _serves(run, "ojs-server")
        reader.write("/srv/ojs-admin/index.html", "the page\n")
        locations = page.one("ojs-admin-ui", "nginx").text
        await with_nginx(run.here(f"server {{ listen 127.0.0.1:8081; {locations} }}"), reader, run)
        await run.run("curl -sS http://127.0.0.1:8081/ojs/admin/queues/email")
        await run.says("the page")
        await run.run("curl -sS http://127.0.0.1:8081/ojs/v1/me")
        await run.prints('{"role": "admin"}')
