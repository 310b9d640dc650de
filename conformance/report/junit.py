"""JUnit XML: a failed check is a failure, what cannot be judged an error, the rest is skipped."""

import re
from itertools import groupby
from xml.etree import ElementTree

from conformance.report.document import Report
from conformance.verdicts.result import CaseResult, Verdict

# XML 1.0 knows no other control characters, whatever a server sends.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NEUTRAL = (Verdict.SKIPPED, Verdict.DEFECTIVE, Verdict.DISPUTED)


def junit_xml(report: Report) -> bytes:
    """Build the document, one test suite for each suite of cases."""
    root = ElementTree.Element("testsuites", name="ojs-conformance")
    root.set("time", _seconds(report.duration_ms))
    for name, group in groupby(report.cases, key=lambda result: result.suite):
        cases = list(group)
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(name) or "cases")
        suite.set("tests", str(len(cases)))
        suite.set("failures", _count(cases, Verdict.FAIL))
        suite.set("errors", _count(cases, Verdict.ERROR))
        suite.set("skipped", str(sum(_is_skipped(case) for case in cases)))
        suite.set("timestamp", report.run_at.removesuffix("Z"))
        suite.set("time", _seconds(sum(case.duration_ms for case in cases)))
        for case in cases:
            _case(suite, case)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _case(suite: ElementTree.Element, case: CaseResult) -> None:
    made = ElementTree.SubElement(suite, "testcase", name=_clean(f"{case.test_id} {case.name}"))
    made.set("classname", _clean(case.suite) or "cases")
    made.set("file", _clean(case.path))
    made.set("time", _seconds(case.duration_ms))
    published = [f"published: {', '.join(case.published)}"] if case.published else []
    causes = [f"because: {cause}" for cause in case.causes]
    text = "\n".join([*map(str, case.failures), *causes, *published])
    if case.is_bad and not case.spoils():
        ElementTree.SubElement(made, "skipped", message=_clean(f"should: {case.reason or text}"))
    elif case.is_bad:
        kind = "failure" if case.verdict is Verdict.FAIL else "error"
        found = ElementTree.SubElement(made, kind, type=str(case.verdict))
        found.set("message", _clean(case.reason or text.partition("\n")[0]))
        found.text = _clean(text or case.reason)
    elif case.verdict is not Verdict.PASS:
        why = ": ".join(part for part in (case.skipped, case.reason) if part)
        text = why if case.verdict is Verdict.SKIPPED else f"{case.verdict} case: {why}"
        ElementTree.SubElement(made, "skipped", message=_clean(text))


def _count(cases: list[CaseResult], verdict: Verdict) -> str:
    return str(sum(case.verdict is verdict and not _is_skipped(case) for case in cases))


def _is_skipped(case: CaseResult) -> bool:
    # By default only violations of "must" fail a build; `--fail-on should` is stricter.
    return case.verdict in _NEUTRAL or (case.is_bad and not case.spoils())


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
