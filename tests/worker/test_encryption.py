"""Encrypted arguments: their form on the wire, rotation of keys, and failures."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_server.app import Application
from ojs_worker import BlockingClient, Client, JobRequest, Unique, Worker, chain, group
from ojs_worker.codec import CannotOpen
from ojs_worker.compression import Compression
from ojs_worker.encryption import ENCODINGS, FINGERPRINT, KEY_ID, Encryption, new_key
from ojs_worker.job import Job
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.examples import examples
from tests.http.conftest import Serve
from tests.worker.conftest import QUICK, Start
from tests.worker.scripted import NACK, MemoryTransport, ScriptedServer, job

OLD, NEW, OTHER = (bytes([n]) * 32 for n in (1, 2, 3))
BOTH = {"old": OLD, "new": NEW}
# With a space, which no id and nothing sealed has by chance.
SECRET = {"card": "4111 1111"}
KINDS: st.SearchStrategy[Compression | None] = st.sampled_from(["zstd", "gzip", None])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def request(*args: Any, id: str = "1", **more: Any) -> JobRequest:
    return JobRequest(id=id, type="a.b", args=list(args), **more)


def stored(sealed: JobRequest) -> Job:
    """The job that a server makes of a request."""
    return msgspec.json.decode(json.dumps(sealed.wire()), type=Job)


@pytest.fixture
def codec() -> Encryption:
    return Encryption(BOTH, "new")


@settings(max_examples=examples(40))
@given(st.lists(values, max_size=3), KINDS)
def test_what_is_sealed_is_opened_again(args: list[Any], compress: Compression | None) -> None:
    codec = Encryption(BOTH, "new", compress=compress)
    sealed = codec.seal(request(*args, meta={"m": 1}))
    assert codec.open(stored(sealed)).args == args
    assert sealed.meta["m"] == 1


def test_the_form_on_the_wire(codec: Encryption) -> None:
    sealed = codec.seal(request(SECRET))
    (arg,) = sealed.args
    assert (arg["ojs_encoded"], arg["encoding"]) == (True, "binary/encrypted")
    assert sealed.meta == {ENCODINGS: ["binary/encrypted"], KEY_ID: "new"}
    data = b64decode(arg["data"])
    assert data[:1] == b"\x01"
    assert json.loads(AESGCM(NEW).decrypt(data[1:13], data[13:], None)) == [SECRET]
    assert "4111 1111" not in json.dumps(sealed.wire())


@pytest.mark.parametrize("how", ["zstd", "gzip"])
def test_long_arguments_are_compressed_first(codec: Encryption, how: Compression) -> None:
    long = "x" * 5000
    sealed = Encryption(BOTH, "new", compress=how).seal(request(long))
    assert sealed.meta[ENCODINGS] == [f"{how}/plain", "binary/encrypted"]
    assert sealed.args[0]["encoding"] == f"binary/encrypted+{how}"
    assert len(sealed.args[0]["data"]) < 200
    # A codec opens either form, independent of its own setting.
    assert codec.open(stored(sealed)).args == [long]


def test_short_arguments_and_those_of_who_wants_it_so_are_not_compressed() -> None:
    for codec, args in (
        (Encryption(BOTH, "new"), ["x" * 1000]),
        (Encryption(BOTH, "new", compress=None), ["x" * 5000]),
    ):
        assert codec.seal(request(*args)).meta[ENCODINGS] == ["binary/encrypted"]
    with pytest.raises(ValueError, match="must be zstd, gzip or None, not 'lzma'"):
        Encryption(BOTH, "new", compress="lzma")  # type: ignore[arg-type]


def test_no_two_jobs_share_a_nonce_and_a_repeated_request_is_the_same(codec: Encryption) -> None:
    one, again = codec.seal(request(SECRET)), codec.seal(request(SECRET))
    others = [codec.seal(request(SECRET, id="2")), codec.seal(request(SECRET, 1))]
    others.append(Encryption(BOTH, "old").seal(request(SECRET)))
    assert one.wire() == again.wire()
    nonces = {b64decode(sealed.args[0]["data"])[1:13] for sealed in (one, *others)}
    assert len(nonces) == 4


def test_what_is_sealed_is_not_sealed_again(codec: Encryption) -> None:
    sealed = codec.seal(request(SECRET))
    assert codec.seal(sealed) is sealed


def test_plain_jobs_pass(codec: Encryption) -> None:
    for args in ([], [1], [SECRET], ["text"], [{"ojs_encoded": "no"}]):
        plain = Job(id="1", type="a.b", args=args)
        assert codec.open(plain) is plain


def test_keys_change_while_old_jobs_wait() -> None:
    before = Encryption({"old": OLD}, "old")
    between = Encryption(BOTH, "old")
    after = Encryption(BOTH, "new")
    end = Encryption({"new": NEW}, "new")
    first, second = stored(before.seal(request(1))), stored(after.seal(request(2)))
    assert [codec.open(first).args for codec in (before, between, after)] == [[1]] * 3
    assert [codec.open(second).args for codec in (between, after, end)] == [[2]] * 3
    for codec, unknown in ((before, second), (end, first)):
        with pytest.raises(CannotOpen, match="does not have the key") as failed:
            codec.open(unknown)
        # Another worker may have it.
        assert failed.value.retryable


def test_a_wrong_key_of_the_right_name_opens_nothing(codec: Encryption) -> None:
    with pytest.raises(CannotOpen, match="another key") as failed:
        Encryption({"new": OTHER}, "new").open(stored(codec.seal(request(1))))
    assert not failed.value.retryable


def flipped(data: bytes, place: int) -> str:
    return b64encode(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]).decode()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: flipped(data, 0),
        lambda data: flipped(data, 1),
        lambda data: flipped(data, 13),
        lambda data: flipped(data, len(data) - 1),
        lambda data: b64encode(data[:-1]).decode(),
        lambda data: b64encode(data[:20]).decode(),
        lambda data: "",
        lambda data: "no base64!",
        lambda data: None,
    ],
    ids=["version", "nonce", "text", "tag", "cut", "stump", "empty", "no-base64", "no-text"],
)
def test_what_was_changed_is_not_opened(
    codec: Encryption, change: Callable[[bytes], str | None]
) -> None:
    sealed = codec.seal(request(SECRET))
    (arg,) = sealed.args
    arg["data"] = change(b64decode(arg["data"]))
    with pytest.raises(CannotOpen) as failed:
        codec.open(stored(sealed))
    assert not failed.value.retryable
    assert "4111 1111" not in str(failed.value)


@pytest.mark.parametrize("given_encodings", [["snappy/plain", "binary/encrypted"], [7]])
def test_an_encoding_that_is_not_known_here_may_be_known_elsewhere(
    codec: Encryption, given_encodings: list[Any]
) -> None:
    sealed = codec.seal(request(SECRET))
    sealed.meta[ENCODINGS] = given_encodings
    with pytest.raises(CannotOpen, match="encoding") as failed:
        codec.open(stored(sealed))
    assert failed.value.retryable


@pytest.mark.parametrize("how", ["zstd", "gzip"])
def test_a_few_bytes_do_not_become_very_many(
    how: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = Encryption(BOTH, "new", compress=how)
    sealed = stored(codec.seal(request("x" * 5000)))
    monkeypatch.setattr("ojs_worker.compression.MAX_PLAIN", 5004)
    assert codec.open(sealed).args == ["x" * 5000]
    monkeypatch.setattr("ojs_worker.compression.MAX_PLAIN", 5003)
    with pytest.raises(CannotOpen, match="more than 5003 bytes") as failed:
        codec.open(sealed)
    assert not failed.value.retryable
    # Arguments that no worker could open are not compressed.
    assert codec.seal(request("x" * 5000)).meta[ENCODINGS] == ["binary/encrypted"]


def test_the_marker_may_stand_in_meta(codec: Encryption) -> None:
    sealed = codec.seal(request(SECRET))
    meta = {**sealed.meta, "ojs_encoded": True}
    other = Job(id="1", type="a.b", args=[sealed.args[0]["data"]], given_meta=meta)
    assert codec.open(other).args == [SECRET]


@pytest.mark.parametrize("key", [b"short", "AAAA", "no base64!", "é" * 44])
def test_a_key_has_its_length(key: str | bytes) -> None:
    with pytest.raises(ValueError, match="the key 'k' must be 32 bytes"):
        Encryption({"k": key}, "k")


def test_the_current_key_is_one_of_them() -> None:
    Encryption({"k": new_key()}, "k")
    with pytest.raises(ValueError, match="none of the keys: k"):
        Encryption({"k": new_key()}, "j")


def test_unique_arguments_are_compared_by_a_fingerprint() -> None:
    def sealed(codec: Encryption, args: list[Any], **policy: Any) -> JobRequest:
        options = {"unique": {"on_conflict": "ignore", **policy}}
        return codec.seal(request(*args, options=options))

    old, new = (Encryption(BOTH, name, unique_secret=OTHER) for name in ("old", "new"))
    whole: dict[str, Any] = {"keys": ["type", "args"]}
    one, same = sealed(old, [1, {"a": 2}], **whole), sealed(new, [1, {"a": 2}], **whole)
    assert one.meta[FINGERPRINT] == same.meta[FINGERPRINT]
    assert one.options["unique"] == {
        "on_conflict": "ignore",
        "keys": ["type", "meta"],
        "meta_keys": [FINGERPRINT],
    }
    assert sealed(new, [2], **whole).meta[FINGERPRINT] != one.meta[FINGERPRINT]
    part: dict[str, Any] = {"args_keys": ["a"], "meta_keys": ["m"]}
    prints = [sealed(new, [{"a": 1, "b": n}], **part).meta[FINGERPRINT] for n in (1, 2)]
    assert prints[0] == prints[1]
    named = sealed(new, [{"a": 1}], **part).options["unique"]
    assert (named["keys"], named["meta_keys"]) == (["type", "meta"], ["m", FINGERPRINT])
    with pytest.raises(ValueError, match="'x'"):
        sealed(new, [{"a": 1}], args_keys=["x"])
    untouched = sealed(Encryption(BOTH, "new"), [1], keys=["type", "queue"])
    assert untouched.options["unique"]["keys"] == ["type", "queue"]
    with pytest.raises(ValueError, match="unique_secret"):
        sealed(Encryption(BOTH, "new"), [1], **whole)


async def test_a_job_that_stays_sealed_fails_and_says_why(start: Start) -> None:
    server = ScriptedServer(holds=True)
    worker = Worker(transport=MemoryTransport(server), codec=Encryption(BOTH, "new"), **QUICK)

    @worker.job("a.b")
    async def handler(card: str) -> None: ...

    elsewhere = Encryption({"far": OTHER}, "far").seal(request(SECRET))
    broken = Encryption(BOTH, "new").seal(request(SECRET))
    broken.args[0]["data"] = "AAAA"
    async with start(worker):
        for number, sealed in ((1, elsewhere), (2, broken)):
            await server.offer(job(number, "a.b", sealed.args, meta=sealed.meta))
        errors = [(await server.settled(job(number), NACK))["error"] for number in (1, 2)]
    assert [error["retryable"] for error in errors] == [True, False]
    assert {error["type"] for error in errors} == {"SealedArguments"}
    assert "'far'" in errors[0]["message"]


async def test_by_hand_a_job_that_stays_sealed_is_passed_over() -> None:
    server = ScriptedServer()
    worker = Worker(transport=MemoryTransport(server), codec=Encryption(BOTH, "new"), **QUICK)
    elsewhere = Encryption({"far": OTHER}, "far").seal(request(SECRET))
    mine = Encryption(BOTH, "old").seal(request(SECRET))
    async with worker.manual() as manual:
        for number, sealed in ((1, elsewhere), (2, mine)):
            await server.offer(job(number, "a.b", sealed.args, meta=sealed.meta))
        claimed = await manual.fetch_one()
        assert claimed is not None
        assert claimed.job.args == [SECRET]
        await claimed.ack()
    await server.settled(job(1), NACK)


async def test_nothing_readable_reaches_the_server(serve: Serve, start: Start) -> None:
    codec = Encryption(BOTH, "new", unique_secret=OTHER)
    async with serve() as server:
        way = AsgiTransport(Application(server))
        worker = Worker(transport=way, codec=codec, **QUICK)
        reads = Client(transport=way)

        @worker.job("pay.card")
        async def pay(card: str) -> str:
            return card[:2]

        client = worker.client
        one = await pay.options(unique=Unique(keys=["type", "args"], on_conflict="ignore")).enqueue(
            card="4111 1111"
        )
        assert one.job.args == [SECRET]
        twin = await client.enqueue(
            "pay.card", SECRET, unique=Unique(keys=["args"], on_conflict="ignore")
        )
        assert twin.id == one.id
        many = await client.enqueue_many([pay.request("4111 1111"), pay.request("4112 1111")])
        step = pay.request("4111 1111")
        flow = await client.start(chain(step, group(step, step)))
        await client.put_cron("c", "@daily", "pay.card", SECRET, meta={"m": 1})
        ran = await client.trigger_cron("c")
        seen = [await reads.get(made.id) for made in (one, *many, ran)]
        assert all("4111 1111" not in str(found.args) for found in seen)
        assert "4111 1111" not in str(msgspec.to_builtins(await reads.get_workflow(flow.id)))
        assert "4111 1111" not in str(msgspec.to_builtins(await reads.list_crons()))
        assert seen[-1].meta["m"] == 1
        assert (await client.get(one.id)).args == [SECRET]
        # Sent again, it is seen to be the same.
        assert (await client.enqueue("a.b", SECRET, id=flow.id)).id == flow.id
        assert (await client.enqueue("a.b", SECRET, id=flow.id)).id == flow.id
        async with start(worker):
            for made in (one, *many, ran):
                assert await client.result(made, timeout_s=30) == "41"


def test_a_blocking_client_seals_too(codec: Encryption) -> None:
    sent: list[bytes] = []

    class Keeps:
        def send(self, request: Request) -> Reply:
            sent.append(request.body or b"")
            return Reply(201, b'{"job":%s}' % sent[-1])

        def close(self) -> None: ...

    with BlockingClient(transport=Keeps(), codec=codec) as client:
        assert client.enqueue("a.b", SECRET).job.args == [SECRET]
    assert b"4111 1111" not in sent[0]
