"""The settings of docs/production.md are those that its tables promise."""

import re
import tomllib
from pathlib import Path
from typing import Final

from ojs_server.http.access.keys import Keys
from ojs_server.http.access.roles import written
from ojs_server.settings import load_settings

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")


def keys_of_the_page(tmp_path: Path) -> Keys:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "ojs.toml"
    file.write_text(block)
    assert set(tomllib.loads(block)["keys"]) == {"shop", "prometheus", "ada", "on-call"}
    return load_settings({"config": str(file)}, {}).keys


def test_the_settings_are_valid_and_give_the_roles_of_the_table(tmp_path: Path) -> None:
    keys = keys_of_the_page(tmp_path)
    has = {keys.names[holder]: written(keys.roles_of(holder)) for holder in keys.names}
    assert has == {
        "shop": "worker+producer",
        "prometheus": "viewer",
        "ada": "operator",
        "on-call": "admin",
    }
    table = re.findall(r"^\| (?!Whose|---).* \| ((?:`\w+`(?:, )?)+) \|$", PAGE, re.MULTILINE)
    listed = {"+".join(re.findall(r"`(\w+)`", roles)) for roles in table}
    assert set(has.values()) <= listed
