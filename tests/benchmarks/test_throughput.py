"""The arguments that measurements require."""

import pytest

from benchmarks import throughput


@pytest.mark.parametrize(
    ("given", "told"),
    [([], "required: --load"), (["--load", ""], "''"), (["--load", "no/such"], "'no/such'")],
)
def test_a_load_generator_must_be_there(
    given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        throughput.main(given)
    assert told in f"{ended.value}{capsys.readouterr().err}"
    assert ended.value.code
