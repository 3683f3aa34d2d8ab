"""What is kept as JSON comes back, whatever Spark does to texts."""

from __future__ import annotations

import json
import re

import pytest

from python_ivm.state.bookmark import encoded


@pytest.mark.parametrize(
    "word", ["url", "hourly", "TOKENS", "a_secret", "Password", "access_key", "\token", "\xaccess"]
)
def test_words_for_which_spark_hides_a_property_are_escaped(word: str) -> None:
    text = f"select {word} from s.t where x = '${{{word}}}'"
    assert not re.search(r"url|secret|password|token|access|\$\{", encoded(text), re.IGNORECASE)
    assert json.loads(encoded(text)) == text
