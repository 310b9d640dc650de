"""The arguments that measurements require."""

from collections.abc import Callable, Sequence

import pytest

from benchmarks import concurrency, throughput


@pytest.mark.parametrize("main", [throughput.main, concurrency.main])
@pytest.mark.parametrize(
    ("given", "told"),
    [([], "required: --load"), (["--load", ""], "''"), (["--load", "no/such"], "'no/such'")],
)
def test_a_load_generator_must_be_there(
    main: Callable[[Sequence[str]], object],
    given: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
