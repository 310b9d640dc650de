"""All checks of a folder of texts, such as a clone of the published specification."""

from pathlib import Path

from conformance.spec.examples import example_problems
from conformance.spec.texts.exchanges import exchange_problems
from conformance.spec.texts.links import link_problems
from conformance.spec.texts.lists import list_problems
from conformance.spec.texts.page import read_pages
from conformance.spec.texts.values import value_problems
from conformance.verdicts.contract import Contract


def text_problems(folder: Path, contract: Contract | None) -> dict[str, list[str]]:
    """Return the contradictions of a folder of texts and its OpenAPI document, by their kind."""
    pages = read_pages(folder)
    return {
        "links and sections": list(link_problems(folder, pages)),
        "values in tables": list(value_problems(pages)),
        "lists of values": list(list_problems(pages, contract)),
        "exchanges": list(exchange_problems(pages, contract)) if contract else [],
        "examples of the OpenAPI document": example_problems(contract) if contract else [],
    }
