"""Keywords that meant something else in older drafts: they would be misread, or passed over in silence."""

from __future__ import annotations

import json
import re
from typing import Any

#: Drafts whose schemas are read as of 2020-12, which changed little of what most are made of.
_KNOWN = re.compile(r"https?://json-schema\.org/(draft-0[467]/schema|draft/(2019-09|2020-12)/schema)#?")


class OlderDraft(ValueError):
    """What is written as an older draft had it, and what to write instead."""


def refuse_older(keyword: str, value: Any) -> None:
    """Raises OlderDraft."""
    if keyword == "$schema" and isinstance(value, str) and not _KNOWN.fullmatch(value):
        raise OlderDraft(
            f"its $schema {json.dumps(value)[:100]} is no draft of JSON Schema that is known here: leave it out, or name "
            "https://json-schema.org/draft/2020-12/schema"
        )
    if keyword == "$id" and isinstance(value, str) and value.startswith("#"):
        raise OlderDraft("'$id' beginning with # is of an older draft: use '$anchor', without the #")
    if keyword == "items" and isinstance(value, list):
        raise OlderDraft("a list under 'items' is of an older draft: use 'prefixItems', and 'items' for what follows")
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        plain = keyword[len("exclusive") :].lower()
        raise OlderDraft(f"'{keyword}' that is true or false is of an older draft: give it the number itself, in place of '{plain}'")
    if keyword == "dependencies":
        raise OlderDraft("'dependencies' is of an older draft: use 'dependentRequired' or 'dependentSchemas'")
    if keyword == "$recursiveRef":
        raise OlderDraft("'$recursiveRef' is of an older draft: use '$dynamicRef', or '$ref'")
