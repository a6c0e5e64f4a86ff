"""Bodies are JSON, whatever the content type says: agents' tools often leave curl's default."""

from __future__ import annotations

from typing import IO, Any

from rest_framework.parsers import BaseParser

from core.inputs import parse_json


class AnyTypeJSONParser(BaseParser):
    """Reads any body as strict JSON; see `core.inputs.parse_json`."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> Any:
        return parse_json(stream.read())
