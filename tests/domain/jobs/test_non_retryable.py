"""Non-retryable errors: matched exactly, by prefix, or by a safe regular expression."""

import time

import pytest

from ojs_server.domain.errors import ValidationError
from ojs_server.domain.jobs.reported_error import MAX_NAME, Fault, parse_fault
from ojs_server.domain.jobs.retry import is_non_retryable, parse_policy


def matches(pattern: str, name: str) -> bool:
    return is_non_retryable(parse_policy({"non_retryable_errors": [pattern]}), (name,))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("FatalError", "FatalError"),
        ("Auth.TokenExpired", "Auth.TokenExpired"),
        ("auth.*", "auth.token_expired"),
        ("auth.*", "auth."),
        ("a.b.*", "a.b.c.d"),
        (".*", "anything at all"),
        ("Fatal.+", "FatalError"),
        ("^Fatal.*$", "Fatal"),
        ("^Fatal.*", "FatalError"),
        (".*Error", "FatalError"),
        (".*Time.*", "ReadTimeout"),
        ("(?:Auth|Login)Error", "LoginError"),
        ("(Auth|Login).*", "LoginError"),
        ("Auth|Login|Token|Session|Cookie|Header|Cert|Key|Scope|Role|User|Group|A|B|C|D|E|F", "F"),
        ("E[0-9]{3}", "E404"),
        (r"Errno\d+", "Errno12"),
        (r"a\.b", "a.b"),
    ],
)
def test_matches(pattern: str, name: str) -> None:
    assert matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("FatalError", "fatalerror"),
        ("FatalError", "FatalErrors"),
        ("FatalError", "MyFatalError"),
        ("auth.*", "auth"),
        ("auth.*", "authority"),
        ("auth.*", "external.auth.failure"),
        ("Auth.Error", "AuthXError"),
        ("Fatal.+", "Fatal"),
        ("Fatal[A-Z]", "FatalErr"),
        ("^Fatal", "FatalError"),
        (r"a\.b", "axb"),
    ],
)
def test_does_not_match(pattern: str, name: str) -> None:
    assert not matches(pattern, name)


def test_type_then_error_class_then_code_are_compared() -> None:
    fault = parse_fault({"code": "c", "type": "t", "message": "m", "details": {"error_class": "k"}})
    assert fault.names == ("t", "k", "c")
    for pattern in ("t", "k", "c"):
        assert is_non_retryable(parse_policy({"non_retryable_errors": [pattern]}), fault.names)
    assert not is_non_retryable(parse_policy({"non_retryable_errors": ["m"]}), fault.names)


def test_an_error_class_that_is_no_text_is_no_name() -> None:
    fault = parse_fault({"code": "c", "details": {"error_class": ["k"]}})
    assert fault.names == ("c", None, "c")
    assert not is_non_retryable(parse_policy({"non_retryable_errors": [".+k.+"]}), fault.names)


def test_an_empty_list_matches_nothing() -> None:
    assert not is_non_retryable(parse_policy(None), ("a", None, "b"))


DANGEROUS = [
    "(a+)+",
    "(a|aa)*b",
    "(a){20}",
    "((a+))+b",
    r"(a)\1",
    "(?=a)a",
    "(?<!a)b",
    "(?i)a",
    "(?P<n>a)",
    "a*a*a*b",
    ".*.*.*x",
    "[a-z]+[a-z]+[a-z]+[A-Z]",
    "a?" * 85 + "a" * 85,
    "a?" * 17,
    "(a|a)" * 17,
    "(?:a|aa)" * 31,
    "a{1,200}a{1,200}a{1,200}",
]


@pytest.mark.parametrize("pattern", DANGEROUS)
def test_patterns_that_could_stall_the_server_are_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match=r"retry\.non_retryable_errors.*not allowed"):
        parse_policy({"non_retryable_errors": [pattern]})


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a)", "a{99999999999}", "\\"])
def test_patterns_that_are_no_regular_expression_are_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match="is not a valid regular expression"):
        parse_policy({"non_retryable_errors": [pattern]})


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("[a-z]*[a-z]*[A-Z]", "a" * 60_000),
        (".*a.*ab", "a" * 60_000),
        ("a?" * 16 + "a" * 200, "a" * 200),
        ("(a|a)" * 16 + "b", "a" * 255),
        ("(?:a|aa)" * 16 + "b", "a" * 255),
        ("a?a?a?a?a?a?a?a?[a-z]*b", "a" * 255),
    ],
)
def test_what_is_allowed_is_quick_on_the_longest_name(pattern: str, name: str) -> None:
    policy = parse_policy({"non_retryable_errors": [pattern]})
    fault = parse_fault({"message": "m", "details": {"error_class": name}})
    started = time.thread_time()
    is_non_retryable(policy, fault.names)
    assert time.thread_time() - started < 0.5


def test_names_are_cut_before_they_are_compared() -> None:
    fault = parse_fault({"type": "a" * 1000, "code": "b" * 1000, "message": "m"})
    assert fault.names == ("a" * MAX_NAME, None, "b" * MAX_NAME)
    long_class = Fault("c", "t", "m", details={"error_class": "k" * 1000})
    assert long_class.names[1] == "k" * MAX_NAME
