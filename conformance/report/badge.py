"""An SVG badge that says how far a server conforms, or whether a worker or an adapter does."""

from html import escape

from conformance.report.document import ADAPTER_MODE, WORKER_MODE, Report

_HEIGHT, _LETTER, _MARGIN = 20, 6.6, 10


def badge_svg(report: Report) -> str:
    """Draw the badge; a run of chosen cases says how many passed, not a level."""
    good = report.conformant and report.results.passed > 0
    colour = "#2a7f3f" if good else "#b3541e" if report.conformant_level >= 0 else "#b3261e"
    if report.mode in (WORKER_MODE, ADAPTER_MODE) and not report.selection:
        right = f"{report.mode} conformant" if good else f"{report.mode} not conformant"
    elif report.selection:
        right = f"{report.results.passed} of {report.results.total} cases"
    elif report.conformant_level >= 0:
        right = f"Conformant Level {report.conformant_level}"
    else:
        right, colour = "not conformant", "#b3261e"
    return _drawn("OJS", right, colour)


def _drawn(left: str, right: str, colour: str) -> str:
    first, second = (round(len(text) * _LETTER) + 2 * _MARGIN for text in (left, right))
    style = 'fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
    label = escape(f"{left}: {right}", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{_HEIGHT}" '
        f'role="img" aria-label="{label}"><title>{label}</title>'
        f'<rect width="{first}" height="{_HEIGHT}" fill="#444"/>'
        f'<rect x="{first}" width="{second}" height="{_HEIGHT}" fill="{colour}"/>'
        f'<g {style} text-anchor="middle"><text x="{first / 2}" y="14">{escape(left)}</text>'
        f'<text x="{first + second / 2}" y="14">{escape(right)}</text></g></svg>\n'
    )
